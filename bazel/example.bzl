"""Examples that are tests, as in Go: what a program prints stands at its end, in a comment.

    // Output:
    // one
    // two

Where the order is not fixed the comment begins with `// Unordered output:`.
"""

load("@rules_cc//cc:defs.bzl", "cc_binary")
load("//bazel:copts.bzl", "CSP_COPTS")
load("//bazel:script_test.bzl", "script_test")

def csp_example(name, srcs = None, deps = ["//csp"], args = [], data = [], size = "small", tags = []):
    """A program, and a test `<name>_output_test` that runs it and compares what it prints.

    Args:
      name: the program; `<name>.cc` is its source.
      srcs: the sources; the expected output stands in the first. Default: `<name>.cc`.
      deps: as for cc_binary.
      args: arguments that the test gives to the program.
      data: files that the program reads.
      size: of the test.
      tags: of the test.
    """
    srcs = srcs or [name + ".cc"]
    cc_binary(
        name = name,
        srcs = srcs,
        copts = CSP_COPTS,
        data = data,
        deps = deps,
    )
    script_test(
        name = name + "_output_test",
        size = size,
        script = "//bazel:example_output.py",
        args = ["$(location %s)" % srcs[0], "$(location :%s)" % name] + args,
        data = [srcs[0], ":" + name],
        tags = tags,
    )
