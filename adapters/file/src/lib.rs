//! tenure-file
