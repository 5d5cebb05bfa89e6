package kafka

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// apiVersions answers what this broker serves (KIP-35, KIP-511). From version 5 on a client may name the cluster and
// node it means to reach, and is told to start over from its bootstrap servers when it reached another.
func (s *Server) apiVersions(c *call) kmsg.Response {
	req := c.req.(*kmsg.ApiVersionsRequest)
	if req.Version >= 3 && (!softwareName(req.ClientSoftwareName) || !softwareName(req.ClientSoftwareVersion)) {
		return versionsAnswer(req.Version, kerr.InvalidRequest.Code)
	}
	if req.Version >= 5 {
		if (req.ClusterID != nil) != (req.NodeID >= 0) {
			return versionsAnswer(req.Version, kerr.InvalidRequest.Code)
		}
		if req.ClusterID != nil && (*req.ClusterID != s.cfg.ClusterID || req.NodeID != s.cfg.NodeID) {
			return versionsAnswer(req.Version, kerr.RebootstrapRequired.Code)
		}
	}
	return versionsAnswer(req.Version, errNone)
}

func versionsAnswer(version, errorCode int16) kmsg.Response {
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.Version = version
	resp.ErrorCode = errorCode
	for _, k := range table {
		r := kmsg.NewApiVersionsResponseApiKey()
		r.ApiKey, r.MinVersion, r.MaxVersion = k.key, k.min, k.max
		resp.ApiKeys = append(resp.ApiKeys, r)
	}
	return resp
}

// softwareName checks a client's name or version as KIP-511 has it: letters and digits, dots and dashes inside.
func softwareName(s string) bool {
	if s == "" {
		return false
	}
	for i := range len(s) {
		c := s[i]
		inner := i > 0 && i < len(s)-1 && (c == '.' || c == '-')
		if !inner && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}
