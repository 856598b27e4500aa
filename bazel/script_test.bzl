"""Tests that are Python scripts, without a Python toolchain: the machine's python3 will do."""

def _include_flag(directory):
    if directory.startswith("external/"):
        return "-isystem ../" + directory[len("external/"):]  # as laid out below a test's directory
    return "-iquote " + directory

def _script_test_impl(ctx):
    runfiles = ctx.runfiles(files = [ctx.file.script] + ctx.files.data)
    for target in ctx.attr.data:
        runfiles = runfiles.merge(target[DefaultInfo].default_runfiles)

    compile_flags = []
    if ctx.attr.deps:
        context = cc_common.merge_cc_infos(
            cc_infos = [dep[CcInfo] for dep in ctx.attr.deps],
        ).compilation_context
        directories = (context.quote_includes.to_list() + context.includes.to_list() +
                       context.system_includes.to_list())
        compile_flags = [_include_flag(d) for d in directories if not d.startswith("bazel-out/")]
        compile_flags += ["-D" + define for define in context.defines.to_list()]
        runfiles = runfiles.merge(ctx.runfiles(transitive_files = context.headers))

    ctx.actions.write(
        ctx.outputs.executable,
        "#!/bin/sh\nCSP_COMPILE_FLAGS='%s' exec python3 -B %s \"$@\"\n" % (
            " ".join(compile_flags),
            ctx.file.script.short_path,
        ),
        is_executable = True,
    )
    return [DefaultInfo(runfiles = runfiles)]

script_test = rule(
    doc = "Runs a Python script; it may use CSP_COMPILE_FLAGS to compile what includes the deps' headers.",
    implementation = _script_test_impl,
    attrs = {
        "script": attr.label(allow_single_file = [".py"], mandatory = True),
        "data": attr.label_list(allow_files = True),
        "deps": attr.label_list(providers = [CcInfo]),
    },
    test = True,
)
