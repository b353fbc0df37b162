#include "kusari/framework/distributed/extensions/multi_node_checkpointer.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iterator>
#include <numeric>
#include <system_error>
#include <utility>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/log.h"
#include "kusari/framework/core/remote_error.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/framework/distributed/byte_messages.h"
#include "kusari/framework/distributed/multi_node_optimizer.h"

namespace kusari::distributed {
namespace {

constexpr const char* kCheckpointer = "MultiNodeCheckpointer";

std::string message_of(const std::vector<int64_t>& numbers) {
  MessageWriter writer;
  writer.number(static_cast<int64_t>(numbers.size()));
  for (const int64_t number : numbers) writer.number(number);
  return writer.bytes();
}

std::vector<int64_t> numbers_of(const std::string& message) {
  MessageReader reader(kCheckpointer, message);
  std::vector<int64_t> numbers(static_cast<size_t>(reader.number()));
  for (int64_t& number : numbers) number = reader.number();
  return numbers;
}

}  // namespace

MultiNodeCheckpointer::MultiNodeCheckpointer(std::string name, const Communicator& comm,
                                             MultiNodeCheckpointerOptions options)
    : name_{argument::not_empty("create_multi_node_checkpointer", "name", std::move(name), "name the run")},
      comm_{comm},
      options_{std::move(options)} {
  argument::positive("create_multi_node_checkpointer", "cp_interval", options_.cp_interval);
  argument::positive("create_multi_node_checkpointer", "gc_interval", options_.gc_interval);
}

void MultiNodeCheckpointer::operator()(training::Trainer& trainer) {
  find_directory(trainer.out());
  for (const auto& [name, optimizer] : trainer.updater().get_all_optimizers()) gather_optimizer_state(*optimizer, true);
  save(trainer, trainer.updater().iteration());
}

void MultiNodeCheckpointer::find_directory(const std::string& path) {
  if (!options_.path.empty()) return;
  if (path.empty())
    throw StateError("MultiNodeCheckpointer: path is not given, and there is no trainer to take it from");
  options_.path = path;
}

void MultiNodeCheckpointer::serialize_ranks(Serializer& serializer) const {
  if (!serializer.contains("_ranks")) return;  // Chainer's files do not have it
  int64_t ranks = comm_.size();
  serializer("_ranks", ranks);
  if (ranks == comm_.size()) return;
  throw ValueError(serializer.place("_ranks") + "is " + std::to_string(ranks) + ": it must be " +
                   std::to_string(comm_.size()) + ", the number of ranks");
}

std::string MultiNodeCheckpointer::file_of(int64_t iteration) const {
  const std::filesystem::path directory(options_.path);
  return (directory / (name_ + '.' + std::to_string(comm_.rank()) + '.' + std::to_string(iteration))).string();
}

std::vector<int64_t> MultiNodeCheckpointer::iterations_on_disk() const {
  const std::filesystem::path first(file_of(0));
  std::string prefix = first.filename().string();
  prefix.pop_back();
  std::vector<int64_t> found;
  std::error_code nothing_there;
  for (const auto& entry : std::filesystem::directory_iterator(first.parent_path(), nothing_there)) {
    const std::string file = entry.path().filename().string();
    if (!file.starts_with(prefix)) continue;
    int64_t iteration = 0;
    const char* const end = file.data() + file.size();
    const auto [stop, error] = std::from_chars(file.data() + prefix.size(), end, iteration);
    if (error == std::errc() && stop == end && iteration >= 0) found.push_back(iteration);
  }
  std::sort(found.begin(), found.end());
  return found;
}

// What not all ranks have is superseded, and all but the newest.
void MultiNodeCheckpointer::keep_common() {
  std::vector<int64_t> common = iterations_;
  for (const std::string& message : comm_.allgather_obj(message_of(iterations_))) {
    const std::vector<int64_t> theirs = numbers_of(message);
    std::erase_if(common, [&](int64_t i) { return !std::binary_search(theirs.begin(), theirs.end(), i); });
  }
  const auto surplus = static_cast<int64_t>(common.size()) - options_.cp_interval;
  if (surplus > 0) common.erase(common.begin(), common.begin() + surplus);
  std::set_difference(iterations_.begin(), iterations_.end(), common.begin(), common.end(),
                      std::back_inserter(superseded_));
  iterations_ = std::move(common);
}

void MultiNodeCheckpointer::remove_superseded() {
  for (const int64_t iteration : superseded_) {
    std::error_code already_gone;
    std::filesystem::remove(file_of(iteration), already_gone);
  }
  superseded_.clear();
}

void MultiNodeCheckpointer::save_as(int64_t iteration, const Callable<void(const std::string&)>& write) {
  find_directory({});
  argument::not_negative("MultiNodeCheckpointer::save", "iteration", iteration);
  const std::string file = file_of(iteration);
  std::filesystem::create_directories(std::filesystem::path(file).parent_path());
  const auto begin = std::chrono::steady_clock::now();
  write(file);
  durations_.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  std::erase(superseded_, iteration);
  const auto place = std::lower_bound(iterations_.begin(), iterations_.end(), iteration);
  if (place == iterations_.end() || *place != iteration) iterations_.insert(place, iteration);
  if (static_cast<int64_t>(iterations_.size()) - options_.cp_interval > options_.gc_interval) {
    keep_common();
    remove_superseded();
  }
}

std::optional<int64_t> MultiNodeCheckpointer::load_newest(const Callable<void(const std::string&)>& read) {
  iterations_ = iterations_on_disk();
  superseded_.clear();
  keep_common();
  if (iterations_.empty()) {
    if (!superseded_.empty()) {
      log::warn("MultiNodeCheckpointer: " + options_.path + " has checkpoints of '" + name_ +
                "', but none that all ranks have, which are " + std::to_string(comm_.size()) + ": nothing is loaded");
    }
    superseded_.clear();
    return std::nullopt;
  }
  for (; !iterations_.empty(); iterations_.pop_back()) {
    const int64_t iteration = iterations_.back();
    std::string problem;
    try {
      read(file_of(iteration));
    } catch (const RemoteError&) {
      throw;
    } catch (const std::exception& error) {
      problem = error.what();
    }
    const std::vector<std::string> problems = comm_.allgather_obj(problem);
    const auto failed = std::find_if(problems.begin(), problems.end(), [](const auto& p) { return !p.empty(); });
    if (failed == problems.end()) return iteration;
    superseded_.push_back(iteration);
    log::warn("MultiNodeCheckpointer: the checkpoint of iteration " + std::to_string(iteration) +
              " is passed over, because rank " + std::to_string(failed - problems.begin()) +
              " cannot read its file: " + *failed);
  }
  // Some ranks may have read theirs.
  throw IoError("MultiNodeCheckpointer: " + options_.path + " has no checkpoint of '" + name_ +
                "' that all ranks can read: remove its files to begin anew");
}

std::string MultiNodeCheckpointer::get_stats() const {
  if (durations_.empty()) return "No stats available";
  const auto [least, most] = std::minmax_element(durations_.begin(), durations_.end());
  const double sum = std::accumulate(durations_.begin(), durations_.end(), 0.0);
  char text[160];
  std::snprintf(text, sizeof text, "Snapshot duration stats (sec): avg=%f, min=%f, max=%f",
                sum / static_cast<double>(durations_.size()), *least, *most);
  return text;
}

void MultiNodeCheckpointer::on_error(training::Trainer&, const std::exception&) { failed_ = true; }

void MultiNodeCheckpointer::finalize() {
  if (std::exchange(failed_, false)) return;
  superseded_.insert(superseded_.end(), iterations_.begin(), iterations_.end());
  iterations_.clear();
  remove_superseded();
}

}  // namespace kusari::distributed
