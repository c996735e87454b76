package main

import (
	"fmt"
	"io"
)

// leastClaims is how many items labellers should get done at least, relative to the bare transactions.
const leastClaims = 0.6

// claimsReport prints what was measured of labellers.
type claimsReport struct {
	to     io.Writer
	ratios *[]float64
}

func newClaimsReport(to io.Writer) claimsReport { return claimsReport{to, new([]float64)} }

func (r claimsReport) begin(o options) {
	fmt.Fprintf(r.to, "\n%d labellers of one project, each of whom claims and finishes %d items, one after the other, at a server with one core.\n", o.claims, itemsEach)
	fmt.Fprintf(r.to, "Beside them the two transactions of each item alone, as many at the same time, on an engine of their own.\n")
	fmt.Fprintf(r.to, "And as many changes of notes by updateNote at the same server, each labeller's own.\n\n")
	fmt.Fprintf(r.to, "%-3s %-12s %9s %9s %9s %17s %18s %10s %6s\n", "run", "", "items", "failed", "items/s", "server CPU ms each", "engines CPU ms each", "calls each", "ratio")
}

func (r claimsReport) add(run int, results [3]labelled) {
	ratio := results[0].perSecond() / results[1].perSecond()
	*r.ratios = append(*r.ratios, ratio)
	for i, name := range []string{"labellers", "transactions", "updateNote"} {
		x := results[i]
		n := float64(max(x.items, 1))
		server, calls, shown := fmt.Sprintf("%.2f", milliseconds(x.server)/n), fmt.Sprintf("%.1f", x.calls/n), ""
		switch i {
		case 0:
			shown = fmt.Sprintf("%.2f", ratio)
		case 1:
			server, calls = "", "2.0"
		}
		fmt.Fprintf(r.to, "%-3d %-12s %9d %9d %9.0f %18s %19.2f %10s %6s\n", run, name, x.items, x.failed, x.perSecond(), server, milliseconds(x.engine)/n, calls, shown)
	}
}

func (r claimsReport) end() error {
	verdict := "met"
	if median(*r.ratios) < leastClaims {
		verdict = "missed"
	}
	_, err := fmt.Fprintf(r.to, "Median of the ratios: %.2f (target, at least %.1f: %s).\n", median(*r.ratios), leastClaims, verdict)
	return err
}
