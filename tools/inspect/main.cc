// Shows what .npz and .safetensors files hold, and in what two of them differ.

#include <cmath>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "kusari/framework/core/text_table.h"
#include "kusari/framework/serializers/safetensors.h"
#include "kusari/tools/inspect/contents.h"
#include "kusari/tools/inspect/difference.h"
#include "kusari/tools/inspect/printable.h"
#include "kusari/tools/inspect/statistics.h"

namespace inspect {
namespace {

using nlohmann::ordered_json;

constexpr size_t kShownText = 60;

struct Options {
  std::string first, second, filter;
  bool statistics = false, json = false;
  Tolerance tolerance;
};

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

/// JSON has no NaN.
ordered_json number_or_null(double value) { return std::isfinite(value) ? ordered_json(value) : ordered_json(); }

bool has_numbers(const Item& item) { return item.is_readable && item.dtype != "text" && item.dtype != "None"; }

void print_json_text(const ordered_json& json) {
  const std::string text = json.dump(2, ' ', false, ordered_json::error_handler_t::replace);
  std::printf("%s\n", printable_json(text).c_str());
}

void print_json(const Contents& contents, const Options& options) {
  ordered_json entries = ordered_json::array();
  for (const Item& item : contents.items) {
    ordered_json entry = {{"key", item.key}, {"dtype", item.dtype}, {"shape", item.shape}, {"bytes", item.bytes}};
    if (item.dtype == "text") entry["text"] = contents.file->value(item.key).text;
    if (options.statistics && has_numbers(item)) {
      const Statistics s = statistics_of(contents.file->value(item.key).array);
      entry.update({{"min", number_or_null(s.min)},
                    {"max", number_or_null(s.max)},
                    {"mean", number_or_null(s.mean)},
                    {"std", number_or_null(s.std)},
                    {"nan", s.nan},
                    {"inf", s.inf},
                    {"zero", s.zero}});
    }
    entries.push_back(std::move(entry));
  }
  ordered_json all = {{"file", options.first}, {"format", contents.format}, {"entries", std::move(entries)}};
  if (const auto* const file = dynamic_cast<const kusari::serializers::SafetensorsReader*>(contents.file.get())) {
    all["metadata"] = file->metadata();
  }
  print_json_text(all);
}

void print_table(const Contents& contents, const Options& options) {
  std::vector<std::vector<std::string>> rows{{"key", "dtype", "shape", "bytes"}};
  if (options.statistics) rows[0].insert(rows[0].end(), {"min", "max", "mean", "std", "nan", "inf", "zero"});
  int64_t bytes = 0;
  for (const Item& item : contents.items) {
    bytes += item.bytes;
    rows.push_back({printable(item.key), item.dtype, shape_text(item.shape), std::to_string(item.bytes)});
    if (!options.statistics) continue;
    if (!has_numbers(item)) {
      rows.back().resize(rows[0].size());
      continue;
    }
    const Statistics s = statistics_of(contents.file->value(item.key).array);
    for (const double value : {s.min, s.max, s.mean, s.std}) rows.back().push_back(short_number(value));
    for (const int64_t count : {s.nan, s.inf, s.zero}) rows.back().push_back(std::to_string(count));
  }
  std::printf("%s", kusari::right_aligned_table(rows).c_str());
  if (options.statistics) {
    for (const Item& item : contents.items) {
      if (item.dtype != "text") continue;
      const std::string text = contents.file->value(item.key).text;
      const std::string shown = ordered_json(text.substr(0, kShownText))
                                    .dump(-1, ' ', false, ordered_json::error_handler_t::replace)
                                    .append(text.size() > kShownText ? " .." : "");
      std::printf("%s: %s\n", printable(item.key).c_str(), printable_json(shown).c_str());
    }
  }
  std::printf("%s, %zu entries, %lld bytes\n", contents.format.c_str(), contents.items.size(),
              static_cast<long long>(bytes));
}

int print_difference(const Options& options) {
  const std::vector<Difference> found = differences(read_contents(options.first, options.filter),
                                                    read_contents(options.second, options.filter), options.tolerance);
  if (options.json) {
    ordered_json all = ordered_json::array();
    for (const Difference& d : found) {
      ordered_json entry = {{"key", d.key}, {"what", d.what}};
      if (d.largest) entry["largest"] = number_or_null(*d.largest);
      all.push_back(std::move(entry));
    }
    print_json_text(all);
  } else {
    for (const Difference& d : found) {
      const std::string by = d.largest ? ", by at most " + short_number(*d.largest) : "";
      std::printf("%s: %s%s\n", printable(d.key).c_str(), d.what.c_str(), by.c_str());
    }
    if (found.empty()) std::printf("no differences\n");
  }
  return found.empty() ? 0 : 1;
}

int run(const Options& options) {
  if (!options.second.empty()) return print_difference(options);
  const Contents contents = read_contents(options.first, options.filter);
  if (options.json) {
    print_json(contents, options);
  } else {
    print_table(contents, options);
  }
  return 0;
}

}  // namespace
}  // namespace inspect

int main(int argc, char** argv) {
  CLI::App app(
      "Shows what a .npz or .safetensors file holds, or in what two files differ (exit status 1 when they do). Files "
      "are checked against the checksums that they have (exit status 2 when one does not match).");
  inspect::Options options;
  app.add_option("file", options.first, "the file")->required();
  app.add_option("other", options.second, "a file to compare it with");
  app.add_option("--filter", options.filter, "only keys that contain this, or match it as a pattern of the shell");
  app.add_flag("--stats", options.statistics,
               "minimum, maximum, mean, standard deviation, and counts of NaN, infinity, 0");
  app.add_flag("--json", options.json, "as JSON");
  app.add_option("--atol", options.tolerance.absolute, "absolute tolerance of a comparison")->capture_default_str();
  app.add_option("--rtol", options.tolerance.relative, "relative tolerance of a comparison")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    return inspect::run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kusari-inspect: %s\n", inspect::printable(error.what()).c_str());
    return 2;
  }
}
