#include "kusari/framework/training/extensions/snapshot.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <regex>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/atomic_file.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/log.h"
#include "kusari/framework/core/number_text.h"
#include "kusari/framework/serializers/entry_checksums.h"
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
  if (fs::path(filename).parent_path().string().find('{') != std::string::npos) {
    throw ValueError("snapshot: filename is '" + filename +
                     "': fields may be in the name of the file, not of its directory, which must be there");
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

/// Where a run was when it wrote a file, as the file's name says: the time at which a file was changed says less, after
/// a clock was set or files were copied. What decides comes first.
struct Place {
  double iteration = 0, epoch = 0, epoch_detail = 0;
  fs::file_time_type time = {};
  std::string name = {};

  auto key() const { return std::tie(iteration, epoch, epoch_detail, time, name); }
  friend bool operator<(const Place& a, const Place& b) { return a.key() < b.key(); }
};

/// Knows what with_values can make of a filename from other names: a copy called .bak, or a model that another
/// extension saves, is no snapshot.
class NamePattern {
 public:
  explicit NamePattern(const std::string& filename) {
    std::string expression = regex_escaped(filename);
    std::vector<std::pair<size_t, double Place::*>> fields;
    for (const auto& [field, number] : {std::pair{kIteration, &Place::iteration}, std::pair{kEpoch, &Place::epoch},
                                        std::pair{kEpochDetail, &Place::epoch_detail}}) {
      for (size_t at = filename.find(field); at != std::string::npos; at = filename.find(field, at + 1)) {
        fields.emplace_back(at, number);
      }
    }
    std::sort(fields.begin(), fields.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [at, number] : fields) fields_.push_back(number);
    replace_all(expression, regex_escaped(kIteration), "([0-9]+)");
    replace_all(expression, regex_escaped(kEpoch), "([0-9]+)");
    replace_all(expression, regex_escaped(kEpochDetail), "([0-9.]+(?:e[+-][0-9]+)?)");
    expression_ = std::regex(expression);
  }

  std::optional<Place> find_place(const std::string& name) const {
    std::smatch match;
    if (!std::regex_match(name, match, expression_)) return std::nullopt;
    Place place{.name = name};
    for (size_t i = 0; i < fields_.size(); ++i) {
      const std::string text = match[i + 1].str();
      double number = 0;
      if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc()) return std::nullopt;
      place.*fields_[i] = number;
    }
    return place;
  }

 private:
  std::regex expression_;
  std::vector<double Place::*> fields_;  // in the order of the name
};

/// Files that snapshots of this pattern have left in a directory, the earliest in training first.
std::vector<fs::path> find_snapshots(const std::string& filename, const fs::path& directory) {
  const NamePattern pattern(filename);
  std::vector<Place> places;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    std::optional<Place> place = pattern.find_place(entry.path().filename().string());
    if (!place || !entry.is_regular_file(error)) continue;
    place->time = entry.last_write_time(error);
    if (!error) places.push_back(std::move(*place));  // else somebody has removed it meanwhile
  }
  std::sort(places.begin(), places.end());
  std::vector<fs::path> paths;
  for (const Place& place : places) paths.push_back(directory / place.name);
  return paths;
}

/// Removes all but the `n` files that are furthest in training, and the one that was just written: a run that begins
/// anew beside those of another one is behind them.
void remove_old(const std::string& filename, const fs::path& directory, size_t n, const fs::path& written) {
  const std::vector<fs::path> files = find_snapshots(filename, directory);
  for (size_t i = 0; i + n < files.size(); ++i) {
    std::error_code error;
    if (files[i].filename() == written.filename()) continue;
    if (!fs::remove(files[i], error) && error) {
      log::warn("snapshot: cannot remove " + files[i].string() + ": " + error.message());
    }
  }
}

}  // namespace

Snapshot::Snapshot(SnapshotOptions options, Target target)
    : options_{std::move(options)},
      target_{std::move(target)},
      writer_{options_.writer ? *options_.writer : Ref<snapshot_writers::Writer>(snapshot_writers::SimpleWriter())} {
  argument::not_empty("snapshot", "filename", options_.filename, "name a file");
  check_fields(options_.filename);
  if (!target_) writer_->add_checksums();
}

SnapshotRanks::~SnapshotRanks() = default;

void Snapshot::visit(Trainer& trainer, Serializer& serializer) const {
  if (target_) {
    target_(serializer);
  } else {
    trainer.serialize(serializer);
  }
  if (ranks_) ranks_->serialize(trainer, serializer);
}

void Snapshot::initialize(Trainer& trainer) {
  const fs::path path = fs::path(trainer.out()) / options_.filename, directory = path.parent_path();
  const std::string pattern = path.filename().string();
  if (!writes()) {
    const auto loaded = options_.autoload ? ranks_->share(nullptr) : nullptr;
    if (loaded) load(trainer, loaded);
    return;
  }
  if (options_.autoload) load_newest(trainer, pattern, directory.string());
  if (options_.autoload || options_.n_retains > 0) remove_stale_temporary_files(directory.string());
  if (options_.n_retains > 0 && !cleanup_hooked_) {
    cleanup_hooked_ = true;
    const auto n = static_cast<size_t>(options_.n_retains);
    writer_->add_cleanup_hook([directory, pattern, n](const std::string& written) {
      remove_stale_temporary_files(directory.string());
      remove_old(pattern, directory, n, written);
    });
  }
}

// A file that is damaged is as bad as one that does not fit: the run goes on from an older one, and the trainer has all
// of a file or nothing.
void Snapshot::load_newest(Trainer& trainer, const std::string& pattern, const std::string& directory) {
  const std::vector<fs::path> files = find_snapshots(pattern, directory);
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    std::shared_ptr<const serializers::EntrySource> source;
    try {
      source = serializers::open_entries(file->string());
      serializers::verify_checksums(*source);
      load(trainer, source);
      log::info("snapshot: loaded " + file->string());
    } catch (const std::exception& error) {
      log::warn("snapshot: " + file->string() + " cannot be used and is passed over: " + error.what());
      continue;
    }
    if (ranks_) ranks_->share(source);
    return;
  }
  if (ranks_) ranks_->share(nullptr);
  const std::string none = "snapshot: no whole file in '" + directory + "' matches " + pattern;
  if (files.empty()) {
    log::info(none);
  } else {
    log::warn(none + ": training starts from the beginning");
  }
}

void Snapshot::load(Trainer& trainer, std::shared_ptr<const serializers::EntrySource> source) {
  serializers::EntryDeserializer reader("snapshot", std::move(source), {});
  serializers::load_entries(reader, [&](Serializer& serializer) { visit(trainer, serializer); });
}

void Snapshot::operator()(Trainer& trainer) {
  if (options_.condition && !options_.condition()) return;
  if (ranks_) ranks_->gather(trainer);
  if (writes()) save(trainer);
}

void Snapshot::on_error(Trainer& trainer, const std::exception&) {
  if (options_.snapshot_on_error && writes()) save(trainer);
}

void Snapshot::save(Trainer& trainer) {
  serializers::DictionarySerializer serializer;
  visit(trainer, serializer);
  const fs::path path = fs::path(trainer.out()) / with_values(options_.filename, trainer.updater());
  (*writer_)(path.string(), serializer.dictionary());
}

}  // namespace kusari::training::extensions
