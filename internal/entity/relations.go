package entity

import (
	"context"
	"slices"
	"strconv"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
)

// Relations asks for a page of the relations of which the entity is the subject, under one predicate or, for "", under all.
func (e Entity) Relations(predicate string, w page.Window) RelationsRequest {
	return RelationsRequest{Entity: e.ID, Predicate: predicate, Window: w, shown: e.shown}
}

// ReverseRelations asks for a page of the relations of which the entity is the object.
func (e Entity) ReverseRelations(predicate string, w page.Window) RelationsRequest {
	return e.Relations(predicate, w)
}

// ListRelations lists the relations of entities that the viewer was shown, by predicate and index; NotFound for others.
func (s *Service) ListRelations(ctx context.Context, requests []RelationsRequest) ([]page.Slice[Relation], []error) {
	return domain.Allowed(requests, RelationsRequest.check, func(requests []RelationsRequest) ([]page.Slice[Relation], []error) {
		return s.o.Store.ListRelations(ctx, requests)
	})
}

// ListReverseRelations lists the relations to entities that the viewer was shown, by index; NotFound for others.
func (s *Service) ListReverseRelations(ctx context.Context, requests []RelationsRequest) ([]page.Slice[Relation], []error) {
	return domain.Allowed(requests, RelationsRequest.check, func(requests []RelationsRequest) ([]page.Slice[Relation], []error) {
		return s.o.Store.ListReverseRelations(ctx, requests)
	})
}

// check is the one guard of what belongs to entities: the entity has to have been shown to the viewer.
func (r RelationsRequest) check() error {
	if !r.shown {
		return notFound()
	}
	if r.Predicate == "" {
		return nil
	}
	return checkName("predicate", "a predicate", r.Predicate)
}

// PutRelations is the input of [Service.AddRelations] and [Service.ReplaceRelations].
type PutRelations struct {
	Subject        ID
	Predicate      string
	Objects        []Object
	IdempotencyKey *string `json:"-"`
}

// AddRelations adds objects behind those that are there, but none that is there already, and returns what it added; nothing to a
// repeated request. It returns *[UnknownObject] as an expected outcome; NotFound when the subject does not exist. The viewer has to be able to write in the
// scopes of the objects that it adds, too: NotFound or Forbidden with the field of the object.
func (s *Service) AddRelations(ctx context.Context, in PutRelations) ([]Relation, error) {
	objects, others, err := in.parse()
	if err != nil {
		return nil, err
	}
	if len(objects) == 0 {
		return nil, fault.Invalidf("input.objects", "give at least one object")
	}
	return s.onceRelations(ctx, "addRelations", in.IdempotencyKey, in, in.Subject, others, func(ctx context.Context, once idempotency.Key) ([]Relation, error) {
		return s.o.Store.AddRelations(ctx, in.Subject, in.Predicate, objects, once)
	})
}

// ReplaceRelations makes the objects, in their order, those under the predicate; the same one may be there more than once.
// Nobody sees a mixture of old and new. Expected outcomes as for AddRelations; who may write in the scope of the subject only may keep what is there.
func (s *Service) ReplaceRelations(ctx context.Context, in PutRelations) error {
	objects, others, err := in.parse()
	if err != nil {
		return err
	}
	_, err = s.onceRelations(ctx, "replaceRelations", in.IdempotencyKey, in, in.Subject, others, func(ctx context.Context, once idempotency.Key) ([]Relation, error) {
		return nil, s.o.Store.ReplaceRelations(ctx, in.Subject, in.Predicate, objects, once)
	})
	return err
}

// RemoveRelations is the input of [Service.RemoveRelations].
type RemoveRelations struct {
	Subject        ID
	Predicate      string
	Objects        []ID
	IdempotencyKey *string `json:"-"`
}

// RemoveRelations removes the objects, as often as each is there, and returns what it removed; nothing to a repeated request. The viewer
// need not be able to write in the scopes of objects, so that nobody has to keep a relation to a scope that they have left.
func (s *Service) RemoveRelations(ctx context.Context, in RemoveRelations) ([]Relation, error) {
	if err := checkName("input.predicate", "a predicate", in.Predicate); err != nil {
		return nil, err
	}
	if len(in.Objects) == 0 || len(in.Objects) > MaxRelationsAdded {
		return nil, fault.Invalidf("input.objectIds", "give 1 to %d objects", MaxRelationsAdded)
	}
	for i, id := range in.Objects {
		if err := checkObject("input.objectIds."+strconv.Itoa(i), id); err != nil {
			return nil, err
		}
	}
	return s.onceRelations(ctx, "removeRelations", in.IdempotencyKey, in, in.Subject, otherScopes{}, func(ctx context.Context, once idempotency.Key) ([]Relation, error) {
		return s.o.Store.RemoveRelations(ctx, in.Subject, in.Predicate, in.Objects, once)
	})
}

// onceRelations runs a mutation of the relations of a subject, in a scope that the viewer may write, to objects in others.
func (s *Service) onceRelations(ctx context.Context, mutation string, key *string, input any, subject ID, others otherScopes, effect func(context.Context, idempotency.Key) ([]Relation, error)) ([]Relation, error) {
	return domain.Once(ctx, s.guard(), mutation, key, input, func(ctx context.Context, once idempotency.Key) ([]Relation, error) {
		if _, err := s.scope(ctx, subject.Scope, WriterRole); err != nil {
			return nil, err
		}
		if !mayExist(subject) {
			return nil, notFound()
		}
		if err := s.refuseObjects(ctx, others); err != nil {
			return nil, err
		}
		return effect(ctx, once.With(subject.Scope, subject.Type, subject.ID))
	}, func(ctx context.Context, _ []string) ([]Relation, error) {
		_, err := s.scope(ctx, subject.Scope, ReaderRole)
		return nil, err
	})
}

func (in PutRelations) parse() ([]Object, otherScopes, error) {
	others := otherScopes{of: in.Subject.Scope}
	if err := checkName("input.predicate", "a predicate", in.Predicate); err != nil {
		return nil, others, err
	}
	objects, err := parseObjects("input.objects", &others, in.Objects, MaxRelationsAdded)
	return objects, others, err
}

// PredicateObjects are the objects that an entity is to have under a predicate.
type PredicateObjects struct {
	Predicate string
	Objects   []Object
}

// parseRelations checks the relations of an entity that is set; all of them together are bounded.
func parseRelations(scope string, relations []PredicateObjects) (map[string][]Object, otherScopes, error) {
	others := otherScopes{of: scope}
	left := MaxRelationsAdded
	parsed := make(map[string][]Object, len(relations))
	for i, r := range relations {
		field := "input.relations." + strconv.Itoa(i)
		if err := checkName(field+".predicate", "a predicate", r.Predicate); err != nil {
			return nil, others, err
		}
		if _, twice := parsed[r.Predicate]; twice {
			return nil, others, fault.Invalidf(field+".predicate", "a predicate is given once, with all of its objects")
		}
		objects, err := parseObjects(field+".objects", &others, r.Objects, left)
		if err != nil {
			return nil, others, err
		}
		parsed[r.Predicate] = objects
		left -= len(objects)
	}
	return parsed, others, nil
}

func parseObjects(field string, others *otherScopes, objects []Object, most int) ([]Object, error) {
	if len(objects) > most {
		return nil, fault.Invalidf(field, "one mutation has at most %d objects", MaxRelationsAdded)
	}
	parsed := make([]Object, len(objects))
	for i, o := range objects {
		at := field + "." + strconv.Itoa(i)
		if err := checkObject(at+".entityId", o.ID); err != nil {
			return nil, err
		}
		attributes, err := parseRelationAttributes(at+".attributes", o.Attributes)
		if err != nil {
			return nil, err
		}
		parsed[i] = Object{ID: o.ID, Attributes: attributes}
		if err := others.see(at+".entityId", &parsed[i]); err != nil {
			return nil, err
		}
	}
	return parsed, nil
}

// checkObject says what is wrong with the id of an object.
func checkObject(field string, id ID) error {
	if err := checkID(field, id.Scope); err != nil {
		return err
	}
	if err := checkName(field, "a type", id.Type); err != nil {
		return err
	}
	return checkID(field, id.ID)
}

// otherScopes are the scopes of objects that are not the subject's, and these objects.
type otherScopes struct {
	of      string // the subject's
	ids     []string
	objects []otherObject
}

// otherObject is an object in another scope, with the field that names it.
type otherObject struct {
	*Object
	field string
}

// see takes an object to the others, if it is in another scope; Invalid for one scope too many.
func (o *otherScopes) see(field string, object *Object) error {
	scope := object.ID.Scope
	if scope == o.of {
		return nil
	}
	if !slices.Contains(o.ids, scope) {
		if len(o.ids) == MaxOtherScopes {
			return fault.Invalidf(field, "the objects of one mutation are in at most %d other scopes", MaxOtherScopes)
		}
		o.ids = append(o.ids, scope)
	}
	o.objects = append(o.objects, otherObject{object, field})
	return nil
}

// refuseObjects refuses objects in scopes where the viewer may not write, unless the subject is related to them already: who only may write in the
// subject's scope must not learn what is in others, nor have their entities point back. NotFound or Forbidden with the field.
func (s *Service) refuseObjects(ctx context.Context, others otherScopes) error {
	if len(others.ids) == 0 {
		return nil
	}
	scopes, errs := s.ScopesByID(ctx, others.ids)
	for _, o := range others.objects {
		i := slices.Index(others.ids, o.ID.Scope)
		switch {
		case errs != nil && fault.Is(errs[i], fault.NotFound):
			o.Refused = &fault.Error{Kind: fault.NotFound, Field: o.field, Message: "there is no such scope"}
		case errs != nil && errs[i] != nil:
			return errs[i]
		case scopes[i].Role < WriterRole:
			o.Refused = &fault.Error{Kind: fault.Forbidden, Field: o.field, Message: "you may read the scope of this object only"}
		default:
			o.Refused = nil
		}
	}
	return nil
}
