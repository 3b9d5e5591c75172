//! Tables for a terminal.

/// Lines of equally many cells as columns, the first `names` of them to the left and the others,
/// which are figures, to the right.
pub(super) fn aligned<const N: usize>(lines: &[[String; N]], names: usize) -> String {
    let widths: [usize; N] = std::array::from_fn(|column| {
        let lengths = lines.iter().map(|cells| cells[column].len());
        lengths.max().unwrap_or(0)
    });
    let pad = |(column, cell): (usize, &String)| {
        let width = widths[column];
        match column < names {
            true => format!("{cell:<width$}"),
            false => format!("{cell:>width$}"),
        }
    };
    let line = |cells: &[String; N]| {
        let padded: Vec<String> = cells.iter().enumerate().map(pad).collect();
        padded.join("  ") + "\n"
    };
    lines.iter().map(line).collect()
}

/// The same with a header; `None` if there is no line below it.
pub(super) fn titled<const N: usize>(
    header: [&str; N],
    names: usize,
    lines: impl IntoIterator<Item = [String; N]>,
) -> Option<String> {
    let mut cells = vec![header.map(str::to_owned)];
    cells.extend(lines);
    (cells.len() > 1).then(|| aligned(&cells, names))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_left_and_figures_right() {
        let lines = [["of", "n"], ["x", "12"]].map(|line| line.map(str::to_owned));
        assert_eq!(aligned(&lines, 1), "of   n\nx   12\n");
    }
}
