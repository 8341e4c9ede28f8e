use moorline_proofs::mutants::{run, Fault};
#[test]
fn probe() {
    let m = run(&|_: Fault| {});
    for r in std::iter::once(&m.baseline).chain(&m.rows) {
        println!("{:<32} {:?}", r.fault.name(), r.reports);
        let mut last = None;
        for k in m.killers(r) {
            if last != Some(k.method) { print!("\n    [{}]", k.method.name()); last = Some(k.method); }
            print!(" {}", k.check);
        }
        println!();
    }
    println!("same {:?}", m.same);
    for p in m.problems() { println!("PROBLEM {p}"); }
}
