package kafka

// Session is who speaks on a connection, from where and through which listener.
type Session struct {
	Principal string
	Address   string
	Listener  string
	Memory    bool // over the connection inside the process
	clientID  string
}

// ClientID is what the peer calls itself in its requests.
func (s *Session) ClientID() string { return s.clientID }

// Operation is what a request wants to do, numbered as in Kafka's ACLs (KIP-430).
type Operation int8

// The operations handlers ask for.
const (
	Read            Operation = 3
	Write           Operation = 4
	Create          Operation = 5
	Delete          Operation = 6
	Alter           Operation = 7
	Describe        Operation = 8
	DescribeConfigs Operation = 10
	AlterConfigs    Operation = 11
	IdempotentWrite Operation = 12
)

// Resource is the kind of thing a request touches, numbered as in Kafka's ACLs.
type Resource int8

// The resources handlers ask for.
const (
	TopicResource   Resource = 2
	GroupResource   Resource = 3
	ClusterResource Resource = 4
	TxnResource     Resource = 5
)

// Authorizer says what a session may do. It must be quick and safe for concurrent use.
type Authorizer interface {
	Allow(s *Session, op Operation, r Resource, name string) bool
}

// AllowAll lets every session do everything.
type AllowAll struct{}

// Allow says yes.
func (AllowAll) Allow(*Session, Operation, Resource, string) bool { return true }

// clusterName is the name of the one cluster resource.
const clusterName = "kafka-cluster"

// allow asks the authorizer (I4).
func (s *Server) allow(c *call, op Operation, r Resource, name string) bool {
	return s.auth.Allow(c.session, op, r, name)
}

// topicOperations are the bits of operations a topic can have, as KIP-430 answers them when asked.
func (s *Server) operations(c *call, r Resource, name string, ops ...Operation) int32 {
	var bits int32
	for _, op := range ops {
		if s.allow(c, op, r, name) {
			bits |= 1 << op
		}
	}
	return bits
}

func (s *Server) topicOperations(c *call, name string) int32 {
	return s.operations(c, TopicResource, name, Read, Write, Create, Delete, Alter, Describe, DescribeConfigs, AlterConfigs)
}

func (s *Server) groupOperations(c *call, name string) int32 {
	return s.operations(c, GroupResource, name, Read, Delete, Describe)
}

func (s *Server) clusterOperations(c *call) int32 {
	return s.operations(c, ClusterResource, clusterName, Create, Alter, Describe, DescribeConfigs, AlterConfigs, IdempotentWrite)
}
