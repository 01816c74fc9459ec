//! tenure-redis
