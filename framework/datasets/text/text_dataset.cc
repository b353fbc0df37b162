#include "kusari/framework/datasets/text/text_dataset.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/input_file.h"
#include "kusari/framework/datasets/reading.h"
#include "kusari/framework/datasets/text/text_array.h"

namespace kusari::datasets {
namespace {

constexpr size_t kChunk = size_t{1} << 20;

/// A file and where its lines begin; the last entry is its end.
struct Lines {
  explicit Lines(const std::string& path) : file{"TextDataset", path} {
    starts.push_back(0);
    std::vector<uint8_t> chunk(static_cast<size_t>(std::min<uint64_t>(kChunk, file.size())));
    for (uint64_t at = 0; at < file.size(); at += chunk.size()) {
      const auto part = std::span(chunk).first(static_cast<size_t>(std::min<uint64_t>(chunk.size(), file.size() - at)));
      file.read(at, part);
      const uint8_t* const end = part.data() + part.size();
      for (const uint8_t* p = part.data(); p != end;) {
        const void* const newline = std::memchr(p, '\n', static_cast<size_t>(end - p));
        if (newline == nullptr) break;
        p = static_cast<const uint8_t*>(newline) + 1;
        starts.push_back(at + static_cast<uint64_t>(p - part.data()));
      }
    }
    if (starts.back() != file.size()) starts.push_back(file.size());
  }

  int64_t count() const { return static_cast<int64_t>(starts.size()) - 1; }

  std::string read(int64_t number) const {
    const uint64_t start = starts[static_cast<size_t>(number)], end = starts[static_cast<size_t>(number) + 1];
    std::string line;
    reading("TextDataset", file.path(), [&] { line.resize(static_cast<size_t>(end - start)); });
    file.read(start, {reinterpret_cast<uint8_t*>(line.data()), line.size()});
    if (line.ends_with('\n')) line.pop_back();
    if (line.ends_with('\r')) line.pop_back();
    return line;
  }

  InputFile file;
  std::vector<uint64_t> starts;
};

}  // namespace

struct TextDataset::State {
  std::vector<std::unique_ptr<const Lines>> files;
  bool is_filtered = false;
  std::vector<int64_t> chosen;  // numbers of the lines that are examples, if filtered

  int64_t size() const { return is_filtered ? static_cast<int64_t>(chosen.size()) : files.front()->count(); }
  int64_t number(int64_t i) const { return is_filtered ? chosen[static_cast<size_t>(i)] : i; }
};

TextDataset::TextDataset(const std::vector<std::string>& paths, const TextDatasetOptions& options) {
  if (paths.empty()) throw ValueError("TextDataset: no files are given");
  const auto state = std::make_shared<State>();
  for (const std::string& path : paths) {
    reading("TextDataset", path, [&] { state->files.push_back(std::make_unique<const Lines>(path)); });
    const int64_t first = state->files.front()->count(), count = state->files.back()->count();
    if (count != first) {
      throw ValueError("TextDataset: " + path + " has " + std::to_string(count) + " lines but " + paths[0] + " has " +
                       std::to_string(first));
    }
  }
  if (options.filter_func) {
    state->is_filtered = true;
    std::vector<std::string> lines(paths.size());
    std::vector<std::string_view> views(paths.size());
    for (int64_t i = 0; i < state->files.front()->count(); ++i) {
      for (size_t k = 0; k < paths.size(); ++k) views[k] = lines[k] = state->files[k]->read(i);
      if (options.filter_func(views)) state->chosen.push_back(i);
    }
  }
  state_ = state;
}

int64_t TextDataset::size() const { return state_->size(); }

Example TextDataset::get(int64_t i) const {
  check_index("TextDataset::get", i, size());
  Example example;
  for (const auto& file : state_->files) example.push_back(text_array(file->read(state_->number(i))));
  return example;
}

std::string TextDataset::line(int64_t i, size_t file) const {
  check_index("TextDataset::line", i, size());
  if (file >= state_->files.size()) {
    throw IndexError("TextDataset::line: file " + std::to_string(file) + " is asked for, but there are " +
                     std::to_string(state_->files.size()));
  }
  return state_->files[file]->read(state_->number(i));
}

int64_t TextDataset::line_number(int64_t i) const {
  check_index("TextDataset::line_number", i, size());
  return state_->number(i);
}

}  // namespace kusari::datasets
