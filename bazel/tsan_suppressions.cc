// Linked into every program under --config=tsan (see .bazelrc).
//
// Abseil's per-thread semaphore is posted by a futex call on memory whose
// mapping TSan saw earlier as a plain write: the report is about mmap against
// futex, not about anybody's data. Data guarded by an absl::Mutex is still
// checked, since the Mutex annotates itself.
//
// The references to an exception are counted inside libstdc++, which is not
// instrumented: whoever drops the last one seems to race with those who have
// looked at the exception before.

extern "C" const char* __tsan_default_suppressions();

extern "C" const char* __tsan_default_suppressions() {
  return "race:AbslInternalPerThreadSemPost\n"
         "race:std::__exception_ptr::exception_ptr::_M_release\n";
}
