package broker

func childBroker() bool { return false }
