"""csp's dependencies, and Bazel's own, from Debian packages: nothing is downloaded.

Call csp_debian_dependencies() before csp_dependencies(): what is declared first wins.
The system's headers need no include path (/usr/include is one of the compiler's own directories, and
naming it again breaks #include_next), so most of these repositories only say what to link.
"""

def _apt(package):
    return "\n\n  csp: run   apt-get install --no-install-recommends %s\n" % package

def _require(ctx, path, package):
    if not ctx.path(path).exists:
        fail("%s needs %s, which is not on this machine.%s" % (ctx.name, path, _apt(package)))

def _debian_package_impl(ctx):
    for path in ctx.attr.requires:
        _require(ctx, path, ctx.attr.package)
    multiarch = ctx.execute(["gcc", "-print-multiarch"]).stdout.strip()
    for link, target in ctx.attr.links.items():
        target = target.replace("{multiarch}", multiarch)
        _require(ctx, target, ctx.attr.package)
        ctx.symlink(target, link)

    # The headers under /usr/include are no inputs of the actions (the C++ toolchain has them built in).
    # This file is one, so an upgraded package rebuilds what uses it.
    version = ctx.execute(["dpkg-query", "-W", "-f=${Package} ${Version}\\n"] + ctx.attr.package.split(" "))
    ctx.file("debian_package.h", "/* %s */\n" % version.stdout)
    ctx.file("WORKSPACE", "")
    ctx.file("BUILD.bazel", ctx.attr.build)
    for path, content in ctx.attr.files.items():
        ctx.file(path, content)

debian_package = repository_rule(
    doc = "A repository over installed Debian packages; fails naming the packages to install.",
    implementation = _debian_package_impl,
    attrs = {
        "package": attr.string(mandatory = True, doc = "Names of packages, with spaces between."),
        "requires": attr.string_list(doc = "Files that must be there."),
        "links": attr.string_dict(doc = "Name in the repository -> file of the package."),
        "files": attr.string_dict(doc = "Name in the repository -> content."),
        "build": attr.string(mandatory = True, doc = "Content of BUILD.bazel."),
    },
    local = True,
)

_BOOST_CONTEXT = """
cc_library(
    name = "boost.context",
    srcs = ["libboost_context.a", "libboost_context.so"],
    hdrs = ["debian_package.h"],
    visibility = ["//visibility:public"],
)
"""

# As the Bazel Central Registry's boost.asio: compiled once, not header-only.
_BOOST_ASIO = """
cc_library(
    name = "boost.asio",
    srcs = ["boost.asio.src.cpp"],
    hdrs = ["debian_package.h"],
    defines = ["BOOST_ASIO_SEPARATE_COMPILATION"],
    linkopts = ["-lpthread"],
    visibility = ["//visibility:public"],
)
"""

# The names that the Bazel Central Registry's openssl has.
_OPENSSL = """
cc_library(
    name = "crypto",
    hdrs = ["debian_package.h"],
    linkopts = ["-lcrypto"],
    visibility = ["//visibility:public"],
)

cc_library(
    name = "ssl",
    linkopts = ["-lssl"],
    visibility = ["//visibility:public"],
    deps = [":crypto"],
)
"""

_GOOGLETEST = """
cc_library(
    name = "gtest",
    srcs = ["googletest/src/gtest-all.cc", "googlemock/src/gmock-all.cc", "debian_package.h"] +
        glob(["google*/src/*.h"]),
    hdrs = glob(["google*/include/**/*.h"]),
    textual_hdrs = glob(["google*/src/*.cc"], exclude = ["**/*_main.cc", "**/*-all.cc"]),
    includes = ["googlemock", "googlemock/include", "googletest", "googletest/include"],
    linkopts = ["-lpthread"],
    visibility = ["//visibility:public"],
)

cc_library(
    name = "gtest_main",
    srcs = ["googlemock/src/gmock_main.cc"],
    deps = [":gtest"],
    visibility = ["//visibility:public"],
)
"""

# Debian 12's bazel-rules-cc does not match Debian 12's Bazel. Bazel 4 has these rules built in.
_RULES_CC = """
def cc_binary(**kwargs):
    native.cc_binary(**kwargs)

def cc_import(**kwargs):
    native.cc_import(**kwargs)

def cc_library(**kwargs):
    native.cc_library(**kwargs)

def cc_proto_library(**kwargs):
    native.cc_proto_library(**kwargs)

def cc_test(**kwargs):
    native.cc_test(**kwargs)

def cc_toolchain(**kwargs):
    native.cc_toolchain(**kwargs)

def cc_toolchain_suite(**kwargs):
    native.cc_toolchain_suite(**kwargs)

def objc_library(**kwargs):
    native.objc_library(**kwargs)
"""

_COVERAGE_TOOLS = """
filegroup(name = "coverage_report_generator", srcs = ["none.sh"], visibility = ["//visibility:public"])
filegroup(name = "lcov_merger", srcs = ["none.sh"], visibility = ["//visibility:public"])
"""

def _debian_package(name, **kwargs):
    if not native.existing_rule(name):
        debian_package(name = name, **kwargs)

def _debian_rules_impl(ctx):
    _require(ctx, ctx.attr.path, ctx.attr.package)
    for entry in ctx.path(ctx.attr.path).readdir():
        ctx.symlink(entry, entry.basename)

# As local_repository, but names the package where it is missing.
_debian_rules_repository = repository_rule(
    implementation = _debian_rules_impl,
    attrs = {
        "package": attr.string(mandatory = True),
        "path": attr.string(mandatory = True),
    },
    local = True,
)

def _debian_rules(name, path, package):
    if not native.existing_rule(name):
        _debian_rules_repository(name = name, path = path, package = package)

def _debian_abseil_impl(ctx):
    home = ctx.os.environ.get("HOME", "/root")
    src = ctx.os.environ.get("CSP_ABSEIL", home + "/.cache/csp/abseil")
    if not ctx.path(src).exists:
        fail("%s needs Abseil's sources in %s.\n\n  csp: run   ./dev setup   in csp's repository\n" % (ctx.name, src))
    for entry in ctx.path(src).readdir():
        ctx.symlink(entry, entry.basename)

debian_abseil = repository_rule(
    doc = "Abseil, built from the source package that ./dev setup unpacked.",
    implementation = _debian_abseil_impl,
    environ = ["CSP_ABSEIL", "HOME"],
    local = True,
)

def csp_debian_dependencies(enabled = True):  # buildifier: disable=unnamed-macro
    """Declares every repository that a build of csp itself needs, from Debian's packages.

    Args:
      enabled: False to declare nothing.
    """
    if not enabled:
        return

    # What Bazel itself would download.
    _debian_rules("bazel_skylib", "/usr/share/bazel/tools/skylib", "bazel-skylib")
    _debian_rules("platforms", "/usr/share/bazel/tools/platforms", "bazel-platforms")
    _debian_rules("rules_java", "/usr/share/bazel/rules/java", "bazel-rules-java")
    _debian_rules("rules_proto", "/usr/share/bazel/rules/proto", "bazel-rules-proto")
    _debian_package(
        "rules_cc",
        package = "bazel-bootstrap",
        build = "",
        files = {
            "cc/BUILD.bazel": "toolchain_type(name = \"toolchain_type\")\n",
            "cc/defs.bzl": _RULES_CC,
        },
    )
    _debian_package(
        "remote_coverage_tools",
        package = "bazel-bootstrap",
        build = _COVERAGE_TOOLS,
        files = {"none.sh": "#!/bin/sh\n"},
    )

    # What csp needs.
    if not native.existing_rule("com_google_absl"):
        debian_abseil(name = "com_google_absl")
    _debian_package(
        "boost.context",
        package = "libboost1.81-dev libboost-context1.81-dev",
        requires = ["/usr/include/boost/context/fiber.hpp"],
        links = {
            "libboost_context.a": "/usr/lib/{multiarch}/libboost_context.a",
            "libboost_context.so": "/usr/lib/{multiarch}/libboost_context.so",
        },
        build = _BOOST_CONTEXT,
    )
    _debian_package(
        "boost.asio",
        package = "libboost1.81-dev",
        requires = ["/usr/include/boost/asio.hpp"],
        build = _BOOST_ASIO,
        files = {"boost.asio.src.cpp": "#include <boost/asio/impl/src.hpp>\n"},
    )

def csp_debian_dev_dependencies(enabled = True):  # buildifier: disable=unnamed-macro
    """Declares what only csp's own tests and examples need.

    Args:
      enabled: False to declare nothing.
    """
    if not enabled:
        return
    _debian_package(
        "com_google_googletest",
        package = "googletest",
        links = {
            "googlemock": "/usr/src/googletest/googlemock",
            "googletest": "/usr/src/googletest/googletest",
        },
        build = _GOOGLETEST,
    )
    _debian_package(
        "openssl",
        package = "libssl-dev",
        requires = ["/usr/include/openssl/evp.h"],
        build = _OPENSSL,
    )
