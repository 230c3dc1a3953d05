"""What controllers are built from: a client, informers, listers, work queues, leader election, events."""
