use std::time::Duration;

/// Reads `30s`, `500ms`, `1m30s` or `2h`: whole numbers with units, above zero.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let trimmed = text.trim();
    if trimmed.starts_with('-') {
        return Err("a duration cannot be negative".to_owned());
    }
    if !trimmed.is_empty() && trimmed.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return Err(format!("a duration needs a unit: {trimmed}s, {trimmed}ms or {trimmed}m"));
    }
    let duration = humantime::parse_duration(trimmed).map_err(|error| {
        if error == humantime::DurationError::NumberOverflow {
            "this duration is too long".to_owned()
        } else {
            format!("{error}; write a duration as 30s, 500ms, 1m30s or 2h")
        }
    })?;
    if duration.is_zero() {
        return Err("a duration of zero is of no use here".to_owned());
    }
    Ok(duration)
}

/// For a person: `12 s`, `850 ms`, `2 min 5 s`.
pub(crate) fn spoken(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0 => format!("{} ms", duration.as_millis()),
        1..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_numbers_with_units() {
        assert_eq!(parse("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(parse("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse("2h"), Ok(Duration::from_secs(7200)));
    }

    #[test]
    fn refuses_with_a_hint() {
        assert_eq!(parse("30").unwrap_err(), "a duration needs a unit: 30s, 30ms or 30m");
        assert_eq!(parse("-1s").unwrap_err(), "a duration cannot be negative");
        assert_eq!(parse("0s").unwrap_err(), "a duration of zero is of no use here");
        assert_eq!(parse("99999999999999999999h").unwrap_err(), "this duration is too long");
        for nonsense in ["", "s", "3 parsecs", "1s;rm", "½s", "1e9s"] {
            assert!(parse(nonsense).unwrap_err().contains("30s"), "{nonsense}");
        }
    }

    #[test]
    fn speaks() {
        assert_eq!(spoken(Duration::from_millis(850)), "850 ms");
        assert_eq!(spoken(Duration::from_millis(12_900)), "12 s");
        assert_eq!(spoken(Duration::from_secs(125)), "2 min 5 s");
        assert_eq!(spoken(Duration::from_secs(7260)), "2 h 1 min");
    }
}
