package connection

// newcomers are the sockets whose bearers are not known yet, and the networks that they come from. The mutex of the registry guards them.
type newcomers struct {
	of   map[Connection]string
	many map[string]int // of each network
}

func (n newcomers) add(s Connection, network string) {
	n.of[s] = network
	n.many[network]++
}

func (n newcomers) remove(s Connection) {
	network, there := n.of[s]
	if !there {
		return
	}
	delete(n.of, s)
	if n.many[network]--; n.many[network] == 0 {
		delete(n.many, network)
	}
}

// crowding returns one of the network that has the most, but not s: who opens many sockets loses them to who opens few.
func (n newcomers) crowding(s Connection) (leaving Connection) {
	crowded, most := "", 0
	for network, many := range n.many {
		if many > most {
			crowded, most = network, many
		}
	}
	for other, network := range n.of { // any of them
		if other == s {
			continue
		}
		if leaving = other; network == crowded {
			break
		}
	}
	return leaving
}
