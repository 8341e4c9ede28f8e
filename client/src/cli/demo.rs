use super::Failure;
use super::args::DemoArgs;

pub(super) fn run(_args: &DemoArgs) -> Result<(), Failure> {
    Err(Failure::Failed("not yet".to_owned()))
}
