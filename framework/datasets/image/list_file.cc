#include "kusari/framework/datasets/image/list_file.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <string_view>

#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/reading.h"

namespace kusari::datasets {
namespace {

constexpr const char* kBlanks = " \t\r\n\v\f";

std::string_view strip(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

/// Calls with each line that is not blank, and its number from 1.
void for_each_line(const char* call, const std::string& list,
                   const Callable<void(std::string_view line, int64_t number)>& use) {
  std::ifstream file(list);
  if (!file) throw IoError(std::string(call) + ": " + list + " cannot be opened: " + std::strerror(errno));
  std::string line;
  for (int64_t number = 1; std::getline(file, line); ++number) {
    if (const std::string_view content = strip(line); !content.empty()) use(content, number);
  }
  if (file.bad()) throw IoError(std::string(call) + ": " + list + " cannot be read");
}

}  // namespace

std::vector<std::string> read_paths(const char* call, const std::string& list) {
  std::vector<std::string> paths;
  reading(call, list,
          [&] { for_each_line(call, list, [&](std::string_view line, int64_t) { paths.emplace_back(line); }); });
  return paths;
}

std::vector<LabeledPath> read_labeled_paths(const char* call, const std::string& list) {
  std::vector<LabeledPath> pairs;
  const auto add = [&](std::string_view line, int64_t number) {
    const size_t blank = line.find_last_of(kBlanks);
    int64_t label = 0;
    const char* const begin = line.data() + (blank == std::string_view::npos ? line.size() : blank + 1);
    const char* const end = line.data() + line.size();
    const auto result = std::from_chars(begin, end, label);
    if (begin == end || result.ec != std::errc() || result.ptr != end) {
      throw ValueError(std::string(call) + ": line " + std::to_string(number) + " of " + list + " is '" +
                       std::string(line) + "': a path and an integer label are needed");
    }
    pairs.emplace_back(strip(line.substr(0, blank)), label);
  };
  reading(call, list, [&] { for_each_line(call, list, add); });
  return pairs;
}

Array labels_of(const std::vector<LabeledPath>& pairs, Dtype dtype) {
  std::vector<int64_t> labels;
  labels.reserve(pairs.size());
  for (const LabeledPath& pair : pairs) labels.push_back(pair.second);
  return array(labels).astype(dtype);
}

}  // namespace kusari::datasets
