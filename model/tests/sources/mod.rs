//! A reader of the sources of the placement step, as far as this needs: what stands in parameter
//! lists, and which words occur.

/// The files that a commit runs through.
pub(crate) const OF_THE_STEP: [(&str, &str); 4] = [
    ("state.rs", include_str!("../../src/placement/state.rs")),
    ("commit.rs", include_str!("../../src/placement/commit.rs")),
    (
        "invariants.rs",
        include_str!("../../src/placement/invariants.rs"),
    ),
    ("attempt.rs", include_str!("../../src/placement/attempt.rs")),
];

/// Words by which code could look at its data, or keep it, past the bounds in its parameter lists.
pub(crate) const FORBIDDEN: [&str; 18] = [
    "Any",
    "Borrow",
    "Debug",
    "Display",
    "From",
    "Hash",
    "Into",
    "PartialOrd",
    "Pointer",
    "TypeId",
    "dyn",
    "size_of",
    "size_of_val",
    "static",
    "transmute",
    "type_name",
    "unsafe",
    "where",
];

/// The text without comments and attributes: a derived `Debug` is no bound on the step.
pub(crate) fn code_of(text: &str) -> String {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.starts_with("//") && !line.starts_with("#["))
        .flat_map(|line| [line, "\n"])
        .collect()
}

pub(crate) fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_')
}

/// What stands between `<` and `>` after each `impl` and after the name of each `fn`.
pub(crate) fn parameter_lists(code: &str) -> Vec<String> {
    let mut lists = Vec::new();
    for (index, _) in code.match_indices('<') {
        let (before, after) = code.split_at(index);
        let head = before
            .trim_end()
            .rsplit(['\n', '{', '}', ';'])
            .next()
            .unwrap_or_default();
        let mut words = head.split_whitespace().rev();
        let last = words.next().unwrap_or_default();
        let opens = last == "impl" || words.next() == Some("fn") && !last.contains('(');
        if opens {
            let list = after
                .trim_start_matches('<')
                .split('>')
                .next()
                .unwrap_or_default();
            lists.push(list.to_owned());
        }
    }
    lists
}

/// Each parameter of a list with its bounds.
pub(crate) fn bounds(list: &str) -> Vec<(String, Vec<String>)> {
    list.split(',')
        .map(|parameter| {
            let (name, bounds) = parameter.split_once(':').unwrap_or((parameter, ""));
            let bounds = bounds
                .split('+')
                .map(str::trim)
                .filter(|bound| !bound.is_empty());
            (name.trim().to_owned(), bounds.map(str::to_owned).collect())
        })
        .collect()
}

#[test]
fn finds_lists_bounds_and_words() {
    let code = code_of(
        "#[derive(Debug)]\n// impl<A: Hash> B\nimpl<R: Copy + Ord, T> P<R, T> {\n    \
         pub(super) fn a<T: 'static>(x: Option<T>) {}\n    fn b(x: X<'_>) -> Y<R> {}\n}\n",
    );
    assert_eq!(parameter_lists(&code), ["R: Copy + Ord, T", "T: 'static"]);
    let of = |name: &str, found: &[&str]| {
        let found = found.iter().map(|bound| (*bound).to_owned()).collect();
        (name.to_owned(), found)
    };
    assert_eq!(
        bounds("R: Copy + Ord, T"),
        [of("R", &["Copy", "Ord"]), of("T", &[])]
    );
    assert!(words(&code).any(|word| word == "static"));
    assert!(!words(&code).any(|word| word == "Debug" || word == "Hash"));
}
