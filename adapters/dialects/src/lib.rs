//! tenure-dialects
