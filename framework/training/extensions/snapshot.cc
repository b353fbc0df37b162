#include "kusari/framework/training/extensions/snapshot.h"

#include <algorithm>
#include <filesystem>
#include <regex>
#include <system_error>
#include <tuple>
#include <vector>

#include "kusari/framework/core/atomic_file.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/log.h"
#include "kusari/framework/core/number_text.h"
#include "kusari/framework/training/arguments.h"
#include "kusari/framework/training/extensions/replace_all.h"
#include "kusari/framework/training/trainer.h"

namespace kusari::training::extensions {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIteration = "{.updater.iteration}";
constexpr const char* kEpoch = "{.updater.epoch}";
constexpr const char* kEpochDetail = "{.updater.epoch_detail}";

void check_fields(const std::string& filename) {
  for (size_t at = filename.find('{'); at != std::string::npos; at = filename.find('{', at + 1)) {
    const std::string field = filename.substr(at, filename.find('}', at) - at + 1);
    if (field != kIteration && field != kEpoch && field != kEpochDetail) {
      throw ValueError("snapshot: filename has the field '" + field + "': it may have " + kIteration + ", " + kEpoch +
                       " and " + kEpochDetail);
    }
  }
}

std::string with_values(std::string filename, const updaters::Updater& updater) {
  replace_all(filename, kIteration, std::to_string(updater.iteration()));
  replace_all(filename, kEpoch, std::to_string(updater.epoch()));
  replace_all(filename, kEpochDetail, general_text(updater.epoch_detail(), 12));
  return filename;
}

std::string regex_escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (std::string_view("^$\\.*+?()[]{}|").find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

/// Matches what with_values can make of a filename and no other name: a copy called .bak, or a model that another
/// extension saves, is no snapshot.
std::regex regex_of(const std::string& filename) {
  std::string expression = regex_escaped(filename);
  replace_all(expression, regex_escaped(kIteration), "[0-9]+");
  replace_all(expression, regex_escaped(kEpoch), "[0-9]+");
  replace_all(expression, regex_escaped(kEpochDetail), "[0-9.]+(e[+-][0-9]+)?");
  return std::regex(expression);
}

/// Files that snapshots of this pattern have left in a directory, the oldest first.
std::vector<fs::path> find_snapshots(const std::string& pattern, const fs::path& directory) {
  const std::regex expression = regex_of(pattern);
  using File = std::tuple<fs::file_time_type, size_t, std::string>;  // equal times: 9 is before 10
  std::vector<File> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_regular_file(error) || !std::regex_match(name, expression)) continue;
    const fs::file_time_type time = entry.last_write_time(error);
    if (!error) files.emplace_back(time, name.size(), name);  // else somebody has removed it meanwhile
  }
  std::sort(files.begin(), files.end());
  std::vector<fs::path> paths;
  for (const File& file : files) paths.push_back(directory / std::get<2>(file));
  return paths;
}

/// The file, if all of its entries can be read: half of a snapshot must not be loaded.
std::shared_ptr<const serializers::EntrySource> open_whole(const fs::path& file) {
  try {
    auto entries = serializers::open_entries(file.string());
    for (const std::string& key : entries->keys()) entries->value(key);
    return entries;
  } catch (const IoError& error) {
    log::warn("snapshot: " + file.string() + " is damaged and passed over: " + error.what());
    return nullptr;
  }
}

}  // namespace

Snapshot::Snapshot(SnapshotOptions options, Target target)
    : options_{std::move(options)},
      target_{std::move(target)},
      writer_{options_.writer ? *options_.writer : Ref<snapshot_writers::Writer>(snapshot_writers::SimpleWriter())} {
  arguments::not_empty("snapshot", "filename", options_.filename, "name a file");
  check_fields(options_.filename);
}

void Snapshot::visit(Trainer& trainer, Serializer& serializer) const {
  if (target_) {
    target_(serializer);
  } else {
    trainer.serialize(serializer);
  }
}

void Snapshot::initialize(Trainer& trainer) {
  const fs::path path = fs::path(trainer.out()) / options_.filename, directory = path.parent_path();
  const std::string pattern = path.filename().string();
  if (options_.autoload) {
    std::vector<fs::path> files = find_snapshots(pattern, directory);
    std::shared_ptr<const serializers::EntrySource> entries;
    for (; entries == nullptr && !files.empty(); files.pop_back()) entries = open_whole(files.back());
    if (entries == nullptr) {
      log::info("snapshot: no whole file in '" + directory.string() + "' matches " + pattern);
    } else {
      serializers::EntryDeserializer reader("snapshot", entries, {});
      visit(trainer, reader);
      log::info("snapshot: loaded " + entries->path());
    }
  }
  if (options_.autoload || options_.n_retains > 0) remove_stale_temporary_files(directory.string());
  if (options_.n_retains > 0 && !cleanup_hooked_) {
    cleanup_hooked_ = true;
    writer_->add_cleanup_hook([directory, pattern, n = static_cast<size_t>(options_.n_retains)] {
      remove_stale_temporary_files(directory.string());
      const std::vector<fs::path> files = find_snapshots(pattern, directory);
      for (size_t i = 0; i + n < files.size(); ++i) {
        std::error_code error;
        if (!fs::remove(files[i], error) && error) {
          log::warn("snapshot: cannot remove " + files[i].string() + ": " + error.message());
        }
      }
    });
  }
}

void Snapshot::operator()(Trainer& trainer) {
  if (!options_.condition || options_.condition()) save(trainer);
}

void Snapshot::on_error(Trainer& trainer, const std::exception&) {
  if (options_.snapshot_on_error) save(trainer);
}

void Snapshot::save(Trainer& trainer) {
  serializers::DictionarySerializer serializer;
  visit(trainer, serializer);
  const fs::path path = fs::path(trainer.out()) / with_values(options_.filename, trainer.updater());
  (*writer_)(path.string(), serializer.dictionary());
}

}  // namespace kusari::training::extensions
