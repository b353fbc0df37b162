#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "kusari/tests/skip.h"

// Some tests ask for more memory than there is; AddressSanitizer's allocator shall refuse like any other.
extern "C" __attribute__((visibility("default"), used)) const char* __asan_default_options();
const char* __asan_default_options() { return "allocator_may_return_null=1"; }

namespace {

std::string& running_case() {
  static std::string name;
  return name;
}

/// The cases that were skipped, by reason.
std::map<std::string, std::set<std::string>>& skipped_cases() {
  static std::map<std::string, std::set<std::string>> cases;
  return cases;
}

/// Knows which test case runs.
struct CaseListener final : doctest::IReporter {
  explicit CaseListener(const doctest::ContextOptions&) {}
  void test_case_start(const doctest::TestCaseData& data) override { running_case() = data.m_name; }

  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};
REGISTER_LISTENER("cases", 1, CaseListener);

size_t print_skipped_cases() {
  std::set<std::string> all;
  for (const auto& [reason, cases] : skipped_cases()) all.insert(cases.begin(), cases.end());
  if (all.empty()) return 0;
  std::printf("%zu test cases skipped:\n", all.size());
  for (const auto& [reason, cases] : skipped_cases()) {
    std::printf("  %s:\n", reason.c_str());
    for (const std::string& name : cases) std::printf("    %s\n", name.c_str());
  }
  return all.size();
}

}  // namespace

void kusari::testing::skip(const std::string& reason) { skipped_cases()[reason].insert(running_case()); }

int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  const int status = context.run();
  const size_t skipped = print_skipped_cases();
  const char* const code = std::getenv("KUSARI_TEST_SKIP_CODE");
  return status == 0 && skipped > 0 && code != nullptr ? std::atoi(code) : status;
}
