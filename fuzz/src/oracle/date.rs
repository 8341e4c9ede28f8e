//! HTTP dates: each form as a template, and days counted one year and one month at a time.

/// The Unix time of an HTTP date in any of its three forms, in seconds. A date before 1970 is none,
/// and two digits of a year below 70 stand for 20xx.
pub(crate) fn unix_seconds(text: &str) -> Option<u64> {
    fixed_length(text)
        .or_else(|| obsolete(text))
        .or_else(|| asctime(text))
}

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

const WEEKDAYS: [&str; 7] = [
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
];

/// `Sun, 06 Nov 1994 08:49:37 GMT`
fn fixed_length(text: &str) -> Option<u64> {
    let [weekday, day, month, year, time, zone] = words(text)?;
    let weekday = weekday.strip_suffix(',').filter(|name| name.len() == 3)?;
    (zone == "GMT").then_some(())?;
    seconds(weekday, number(day, 2)?, month, number(year, 4)?, time)
}

/// `Sunday, 06-Nov-94 08:49:37 GMT`
fn obsolete(text: &str) -> Option<u64> {
    let [weekday, date, time, zone] = words(text)?;
    let weekday = weekday.strip_suffix(',').filter(|name| name.len() > 3)?;
    let mut date = date.split('-');
    let [day, month, year] = [date.next()?, date.next()?, date.next()?];
    (zone == "GMT" && date.next().is_none()).then_some(())?;
    let year = number(year, 2)?;
    let century = if year < 70 { 2000 } else { 1900 };
    seconds(weekday, number(day, 2)?, month, century + year, time)
}

/// `Sun Nov  6 08:49:37 1994`
fn asctime(text: &str) -> Option<u64> {
    // Only the day may be filled up with a space.
    let padded = text.get(7..9) == Some("  ");
    let text = if padded {
        text.replacen("  ", " ", 1)
    } else {
        text.to_owned()
    };
    let [weekday, month, day, time, year] = words(&text)?;
    let day = number(day, if padded { 1 } else { 2 })?;
    (weekday.len() == 3).then_some(())?;
    seconds(weekday, day, month, number(year, 4)?, time)
}

fn words<const N: usize>(text: &str) -> Option<[&str; N]> {
    text.split(' ').collect::<Vec<_>>().try_into().ok()
}

fn number(text: &str, digits: usize) -> Option<u64> {
    let plain = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

/// The weekday may be named by its first three letters or in full, and must be the right one.
fn seconds(weekday: &str, day: u64, month: &str, year: u64, time: &str) -> Option<u64> {
    let month = MONTHS.iter().position(|name| *name == month)?;
    let mut time = time.split(':');
    let [hour, minute, second] =
        [time.next()?, time.next()?, time.next()?].map(|part| number(part, 2));
    let (hour, minute, second) = (hour?, minute?, second?);
    let clock = hour < 24 && minute < 60 && second < 60 && time.next().is_none();
    let calendar = year >= 1970 && (1..=days_in(month, year)).contains(&day);
    (clock && calendar).then_some(())?;
    let years: u64 = (1970..year)
        .map(|year| if leap(year) { 366 } else { 365 })
        .sum();
    let months: u64 = (0..month).map(|month| days_in(month, year)).sum();
    let days = years + months + day - 1;
    let name = *WEEKDAYS.iter().cycle().nth((days % 7) as usize)?;
    let named = weekday == name || weekday.len() == 3 && name.starts_with(weekday);
    named.then_some(((days * 24 + hour) * 60 + minute) * 60 + second)
}

fn days_in(month: usize, year: u64) -> u64 {
    match month {
        1 if leap(year) => 29,
        1 => 28,
        3 | 5 | 8 | 10 => 30,
        _ => 31,
    }
}

fn leap(year: u64) -> bool {
    year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_published_examples() {
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ] {
            assert_eq!(unix_seconds(text), Some(784_111_777), "{text}");
        }
        assert_eq!(unix_seconds("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        for text in [
            "Mon, 06 Nov 1994 08:49:37 GMT",
            "Sun, 31 Nov 1994 08:49:37 GMT",
            "Sun Nov  06 08:49:37 1994",
            "Sun, 06-Nov-94 08:49:37 GMT",
            "Sunday, 06 Nov 1994 08:49:37 GMT",
        ] {
            assert_eq!(unix_seconds(text), None, "{text}");
        }
    }
}
