"""What several tests need: toy stages, real brokers and object stores."""
