"""Tests that misuse does not compile, and that the compiler says why.

A source is valid as it stands. Each of its cases is a section that must not compile, with a piece of
what the compiler must say (or several with ` | ` between, where compilers differ; one is enough):

    #ifdef SEND_ON_A_RECV_CHAN  // expect: no member named 'Send'
    void Case(csp::RecvChan<int> c) { c.Send(1); }
    #endif
"""

load("//bazel:script_test.bzl", "script_test")

def nocompile_test(name, src = None, deps = ["//csp"], size = "medium", tags = []):
    """Compiles the source with g++, and clang++ where there is one: once as it is, once for each case.

    Args:
      name: of the test.
      src: the source. Default: `<name>.cc`.
      deps: the libraries whose headers it includes.
      size: of the test.
      tags: of the test.
    """
    src = src or name + ".cc"
    script_test(
        name = name,
        size = size,
        script = "//tests/nocompile:nocompile.py",
        args = ["$(location %s)" % src],
        data = [src, "//tests/style:compilers.py"],
        deps = deps,
        tags = ["no-sanitizer"] + tags,
    )
