package herder

import "context"

// PutLogger asks every worker of the group for a logger's level.
func (h *Herder) PutLogger(ctx context.Context, logger, level string) error {
	ctx, end, err := h.beginWrite(ctx)
	if err != nil {
		return err
	}
	defer end()
	return h.Configs.PutLogger(ctx, logger, level)
}
