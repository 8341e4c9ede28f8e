"""Runs cvc5 on SMT-LIB text, as the program `cvc5` does.

The cvc5 package for Python holds the solver and its parser as a library, but no program. This is that
program, as far as the proofs need it: the text comes in on standard input, the answers go out on standard
output, and options are given as --name=value, or --name for one that is on. It needs the standard library
and cvc5 only.
"""

import sys

import cvc5


def main(arguments):
    if "--version" in arguments:
        print(f"This is cvc5 version {cvc5.__version__}, driven through Python")
        return 0
    solver = cvc5.Solver()
    for argument in arguments:
        if not argument.startswith("--"):
            print(f"run_cvc5: not an option: {argument}", file=sys.stderr)
            return 2
        name, _, value = argument.removeprefix("--").partition("=")
        solver.setOption(name, value or "true")
    return answer(solver, sys.stdin.read())


def answer(solver, text):
    """Invokes every command of the text in order and prints what each answers."""
    symbols = cvc5.SymbolManager(solver)
    parser = cvc5.InputParser(solver, symbols)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "standard input")
    while True:
        command = parser.nextCommand()
        if command.isNull():
            return 0
        print(command.invoke(solver, symbols), end="", flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except RuntimeError as error:
        # As the solvers themselves do: an error is an answer, on standard output.
        print(f'(error "{error}")')
        sys.exit(1)
