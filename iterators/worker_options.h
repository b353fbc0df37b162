#pragma once

#include <cstdint>
#include <optional>
#include <string>

// Checks of the options that iterators with workers have.
namespace kusari::iterators {

/// Throws ValueError "iterator: option is value: it must rule" unless `holds`.
void expect_option(const char* iterator, bool holds, const char* option, const std::string& value, const char* rule);
/// Of what all of them have: seconds for one example, and how often it is tried again.
void expect_worker_options(const char* iterator, const std::optional<double>& dataset_timeout, int64_t max_retries);

}  // namespace kusari::iterators
