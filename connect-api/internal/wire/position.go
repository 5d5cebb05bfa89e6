package wire

import (
	"fmt"

	"github.com/penstockio/penstock/connect-api"
	"github.com/penstockio/penstock/connect-api/connectpb"
)

// Marks are the messages of a batch's positions.
func Marks(marks []connectapi.Mark) []*connectpb.Position {
	if len(marks) == 0 {
		return nil
	}
	out := make([]*connectpb.Position, len(marks))
	for i, m := range marks {
		p := &connectpb.Position{
			Rows: uint32(m.Rows), Partition: string(m.Partition), AckOnly: m.AckOnly,
			Transaction: connectpb.Position_Mark(m.Transaction),
		}
		if m.Offset != "" {
			o := string(m.Offset)
			p.Offset = &o
		}
		out[i] = p
	}
	return out
}

// ToMarks reads a batch's positions and brings partitions and offsets into canonical form.
func ToMarks(ps []*connectpb.Position, rows uint32) ([]connectapi.Mark, error) {
	if len(ps) == 0 {
		return nil, nil
	}
	out := make([]connectapi.Mark, len(ps))
	for i, p := range ps {
		if p.Rows > rows {
			return nil, fmt.Errorf("position %d stands behind row %d of %d", i, p.Rows, rows)
		}
		m := connectapi.Mark{Rows: int(p.Rows), AckOnly: p.AckOnly, Transaction: connectapi.Transaction(p.Transaction)}
		if p.Partition != "" {
			pos, err := ToPosition(p)
			if err != nil {
				return nil, err
			}
			m.Partition, m.Offset = pos.Partition, pos.Offset
		}
		out[i] = m
	}
	return out, nil
}

// Positions are the messages of positions outside batches.
func Positions(ps []connectapi.Position) []*connectpb.Position {
	out := make([]*connectpb.Position, len(ps))
	for i, p := range ps {
		m := &connectpb.Position{Partition: string(p.Partition)}
		if p.Offset != "" {
			o := string(p.Offset)
			m.Offset = &o
		}
		out[i] = m
	}
	return out
}

// ToPositions reads positions outside batches.
func ToPositions(ps []*connectpb.Position) ([]connectapi.Position, error) {
	out := make([]connectapi.Position, len(ps))
	for i, p := range ps {
		pos, err := ToPosition(p)
		if err != nil {
			return nil, err
		}
		out[i] = pos
	}
	return out, nil
}

// ToPosition reads one position in canonical form.
func ToPosition(p *connectpb.Position) (connectapi.Position, error) {
	part, err := connectapi.CanonicalPartition([]byte(p.Partition))
	if err != nil {
		return connectapi.Position{}, fmt.Errorf("reading a position's partition: %w", err)
	}
	off, err := connectapi.CanonicalOffset([]byte(p.GetOffset()))
	if err != nil {
		return connectapi.Position{}, fmt.Errorf("reading a position's offset: %w", err)
	}
	return connectapi.Position{Partition: part, Offset: off}, nil
}

// Offsets is the message of offsets.
func Offsets(o connectapi.Offsets) *connectpb.Offsets {
	out := make([]*connectpb.PartitionOffset, 0, len(o))
	for tp, at := range o {
		out = append(out, &connectpb.PartitionOffset{Topic: tp.Topic, Partition: tp.Partition, Offset: at})
	}
	return &connectpb.Offsets{Of: out}
}

// AppendNext adds a batch's offsets to out.
func AppendNext(out []connectpb.NextOffset, o connectapi.Offsets) []connectpb.NextOffset {
	for tp, at := range o {
		out = append(out, connectpb.NextOffset{Topic: tp.Topic, Partition: tp.Partition, Offset: at})
	}
	return out
}

// ToOffsets reads offsets.
func ToOffsets(ps []*connectpb.PartitionOffset) connectapi.Offsets {
	out := make(connectapi.Offsets, len(ps))
	for _, p := range ps {
		out[connectapi.TopicPartition{Topic: p.Topic, Partition: p.Partition}] = p.Offset
	}
	return out
}

// Partitions is the message of partitions without offsets.
func Partitions(tps []connectapi.TopicPartition) *connectpb.Offsets {
	m := &connectpb.Offsets{}
	for _, tp := range tps {
		m.Of = append(m.Of, &connectpb.PartitionOffset{Topic: tp.Topic, Partition: tp.Partition})
	}
	return m
}

// ToPartitions reads partitions without offsets.
func ToPartitions(m *connectpb.Offsets) []connectapi.TopicPartition {
	var out []connectapi.TopicPartition
	for _, p := range m.GetOf() {
		out = append(out, connectapi.TopicPartition{Topic: p.Topic, Partition: p.Partition})
	}
	return out
}

// Produced are the messages of where rows went.
func Produced(ps []connectapi.Produced) []*connectpb.Produced {
	var out []*connectpb.Produced
	for _, p := range ps {
		out = append(out, &connectpb.Produced{
			Row: uint32(p.Row), Count: uint32(p.Count), Partition: p.Partition, FirstOffset: p.FirstOffset,
		})
	}
	return out
}

// ToProduced reads where rows went.
func ToProduced(ps []*connectpb.Produced) []connectapi.Produced {
	var out []connectapi.Produced
	for _, p := range ps {
		out = append(out, connectapi.Produced{
			Row: int(p.Row), Count: int(p.Count), Partition: p.Partition, FirstOffset: p.FirstOffset,
		})
	}
	return out
}
