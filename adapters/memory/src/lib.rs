//! tenure-memory
