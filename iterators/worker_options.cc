#include "kusari/iterators/worker_options.h"

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/number_text.h"

namespace kusari::iterators {

void expect_option(const char* iterator, bool holds, const char* option, const std::string& value, const char* rule) {
  if (!holds) throw ValueError(std::string(iterator) + ": " + option + " is " + value + ": it must " + rule);
}

void expect_worker_options(const char* iterator, const std::optional<double>& dataset_timeout, int64_t max_retries) {
  expect_option(iterator, !dataset_timeout || *dataset_timeout > 0, "dataset_timeout",
                general_text(dataset_timeout.value_or(0)), "be positive");
  expect_option(iterator, max_retries >= 0, "max_retries", std::to_string(max_retries), "not be negative");
}

}  // namespace kusari::iterators
