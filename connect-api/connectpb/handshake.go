package connectpb

import "math"

// What host and plugin agree on before they speak.
const (
	CookieKey       = "PENSTOCK_PLUGIN"
	CookieValue     = "connect-v1"
	ProtocolVersion = 1
	CoreVersion     = 1 // go-plugin's

	// SocketDirKey names the folder for the plugin's socket in its environment.
	SocketDirKey = "PLUGIN_UNIX_SOCKET_DIR"
	// MaxMessageKey gives the largest gRPC message in bytes, in the plugin's environment.
	MaxMessageKey = "PENSTOCK_MAX_MESSAGE_BYTES"

	// SilenceKey gives, in the plugin's environment and in milliseconds, how long its host may be silent before it may write
	// no more: another may have the work. The host says that it is there by health checks.
	SilenceKey = "PENSTOCK_HOST_SILENCE_MS"

	// DefaultMaxMessage is the largest gRPC message, in bytes, if nothing else is said.
	DefaultMaxMessage = 64 << 20
	// MaxMessage bounds it.
	MaxMessage = math.MaxInt32
)
