package herder

import "context"

// Used takes a topic that a task here uses, to be written beside the states.
func (h *Herder) Used(connector string, task int, topic string) { h.status.use(connector, task, topic) }

// Forgotten tells whoever told of topics whether to do so again.
func (h *Herder) Forgotten() uint64 { return h.Statuses.Forgotten() }

// ForgetUses forgets which topics a connector used.
func (h *Herder) ForgetUses(ctx context.Context, connector string) error {
	ctx, end, err := h.beginWrite(ctx)
	if err != nil {
		return err
	}
	defer end()
	return h.Statuses.ForgetUses(ctx, connector)
}
