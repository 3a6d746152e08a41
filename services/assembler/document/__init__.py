"""Pages in, document out: pure functions without Kafka, without a store, without a clock."""
