package resolvers

import (
	"context"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/viewer"
)

// doneItem is done for items, of which there is none when a repeated request finds it gone.
func (m mutation) doneItem(ctx context.Context, i score.Item, err error) (*score.Item, any, error) {
	after, problem, err := done(ctx, m, i, err)
	if after == nil || after.ID == "" {
		return nil, problem, err
	}
	m.itemsAhead(ctx, []score.Item{*after}, payload(ctx).in("item", "Item", "Node"))
	return after, nil, nil
}

func (m mutation) RequestUpload(ctx context.Context, in model.RequestUploadInput) (*model.RequestUploadPayload, error) {
	to := score.Ref{Owner: viewer.From(ctx).UserID, ID: score.Library}
	if id := in.ScoreID.Value(); id != nil {
		var err error
		if to, err = scoreNow("input.scoreId", *id); err != nil {
			return nil, err
		}
	}
	t, err := m.Items.RequestUpload(ctx, to.Owner, score.RequestUpload{
		Score: to.ID, Name: in.Name, SetName: in.SetName, Type: in.Type, Size: in.Size, SHA256: text(in.Sha256), IdempotencyKey: in.IdempotencyKey.Value(),
	})
	after, problem, err := done(ctx, m, model.ItemUpload{Ticket: t}, err)
	if after != nil && after.ItemRef.ID == "" {
		after = nil
	}
	return &model.RequestUploadPayload{Upload: after, Problem: problem}, err
}

func (m mutation) SignUploadPart(ctx context.Context, in model.SignUploadPartInput) (*model.SignUploadPartPayload, error) {
	key, err := itemID("input.itemId", in.ItemID)
	if err != nil {
		return nil, err
	}
	request, err := m.Items.SignPart(ctx, score.SignPart{Upload: key, Number: in.PartNumber, SHA256: in.Sha256})
	if err != nil {
		return nil, err
	}
	return &model.SignUploadPartPayload{Put: model.RequestOf(request)}, nil
}

func (m mutation) CompleteUpload(ctx context.Context, in model.CompleteUploadInput) (*model.CompleteUploadPayload, error) {
	key, err := itemID("input.itemId", in.ItemID)
	if err != nil {
		return nil, err
	}
	complete := score.CompleteUpload{Upload: key, IdempotencyKey: in.IdempotencyKey.Value()}
	for _, p := range in.Parts.Value() {
		complete.Parts = append(complete.Parts, score.Part{Number: p.Number, ETag: p.Etag})
	}
	i, err := m.Items.Complete(ctx, complete)
	after, problem, err := m.doneItem(ctx, i, err)
	return &model.CompleteUploadPayload{Item: after, Problem: problem}, err
}

func (m mutation) AbortUpload(ctx context.Context, in model.AbortUploadInput) (*model.AbortUploadPayload, error) {
	key, err := itemID("input.itemId", in.ItemID)
	if err != nil {
		return nil, err
	}
	err = m.Items.Abort(ctx, score.AbortUpload{Upload: key, IdempotencyKey: in.IdempotencyKey.Value()})
	after, _, err := done(ctx, m, in.ItemID, err)
	return &model.AbortUploadPayload{AbortedItemID: after}, err
}

func (m mutation) RenameItem(ctx context.Context, in model.RenameItemInput) (*model.RenameItemPayload, error) {
	key, err := itemID("input.itemId", in.ItemID)
	if err != nil {
		return nil, err
	}
	i, err := m.Items.Rename(ctx, score.RenameItem{Item: key, Name: in.Name, IdempotencyKey: in.IdempotencyKey.Value()})
	after, _, err := m.doneItem(ctx, i, err)
	return &model.RenameItemPayload{Item: after}, err
}

func (m mutation) SetItemSetName(ctx context.Context, in model.SetItemSetNameInput) (*model.SetItemSetNamePayload, error) {
	key, err := itemID("input.itemId", in.ItemID)
	if err != nil {
		return nil, err
	}
	i, err := m.Items.PutSetName(ctx, score.PutSetName{Item: key, SetName: in.SetName, IdempotencyKey: in.IdempotencyKey.Value()})
	after, _, err := m.doneItem(ctx, i, err)
	return &model.SetItemSetNamePayload{Item: after}, err
}

func (m mutation) DeleteItem(ctx context.Context, in model.DeleteItemInput) (*model.DeleteItemPayload, error) {
	key, err := itemID("input.itemId", in.ItemID)
	if err != nil {
		return nil, err
	}
	err = m.Items.Delete(ctx, score.DeleteItem{Item: key, IdempotencyKey: in.IdempotencyKey.Value()})
	after, problem, err := done(ctx, m, in.ItemID, err)
	return &model.DeleteItemPayload{DeletedItemID: after, Problem: problem}, err
}

func (m mutation) SetItemQuota(ctx context.Context, in model.SetItemQuotaInput) (*model.SetItemQuotaPayload, error) {
	who, err := userID("input.userId", in.UserID)
	if err != nil {
		return nil, err
	}
	usage, err := m.Items.PutQuota(ctx, score.PutQuota{Owner: who, Quota: in.Quota, IdempotencyKey: in.IdempotencyKey.Value()})
	after, _, err := done(ctx, m, usage, err)
	return &model.SetItemQuotaPayload{Usage: after}, err
}

func (m mutation) WithdrawItem(ctx context.Context, in model.WithdrawItemInput) (*model.WithdrawItemPayload, error) {
	key, err := itemID("input.itemId", in.ItemID)
	if err != nil {
		return nil, err
	}
	i, err := m.Items.Withdraw(ctx, score.WithdrawItem{Item: key, IdempotencyKey: in.IdempotencyKey.Value()})
	after, _, err := m.doneItem(ctx, i, err)
	return &model.WithdrawItemPayload{Item: after}, err
}
