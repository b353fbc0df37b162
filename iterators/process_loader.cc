#include "kusari/iterators/process_loader.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <sstream>
#include <utility>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/log.h"

namespace kusari::iterators {
namespace {

using datasets::Example;

// Small enough for an even load, large enough that claims cost little.
constexpr int64_t kChunksPerWorker = 4;
// So many batches are with the workers at once; more wait here.
constexpr int64_t kMaxBatches = 16;
// Batches that were cancelled keep their place until their workers notice.
constexpr int64_t kSparePlaces = 2;
// A consumer that waits looks after its processes that often, in seconds.
constexpr double kSlice = 0.05;
// The mother answers within milliseconds unless she was stopped; in seconds.
constexpr double kPatience = 1.0;
// Examples of different sizes share one block in slots of the largest's size up to here; larger ones, for which a few
// system calls are nothing, travel alone. In bytes.
constexpr int64_t kLargestSlot = 64 * 1024;

int64_t slot_for(int64_t bytes) {
  return (bytes + BatchLayout::kAlignment - 1) / BatchLayout::kAlignment * BatchLayout::kAlignment;
}

std::string in_text(double seconds) {
  std::ostringstream text;
  text << seconds;
  return text.str();
}

int64_t rows_per_chunk(const ProcessLoader::Options& options) {
  const int64_t chunks = std::min(options.batch_size, kChunksPerWorker * options.n_processes);
  const int64_t rows = (options.batch_size + chunks - 1) / chunks;
  return std::min(rows, options.maxtasksperchild.value_or(rows));
}

}  // namespace

ProcessLoader::ProcessLoader(datasets::DatasetRef dataset, const Options& options)
    : options_{options},
      setting_{std::move(dataset), options.maxtasksperchild, ConfigSnapshot()},
      size_{static_cast<int>(options.n_processes),
            static_cast<int>(std::min(options.n_prefetch + 1, kMaxBatches + options.n_processes) + kSparePlaces),
            options.batch_size, rows_per_chunk(options)} {
  if (options.shared_mem) {
    // Planes are aligned one by one.
    room_ = slot_for(PackedExample::kHeadBytes + *options.shared_mem + BatchLayout::kMaxComponents * 64);
    is_measured_ = true;
  }
  start_crew();
}

ProcessLoader::~ProcessLoader() { finish(); }

void ProcessLoader::finish() noexcept {
  crew_.reset();
  ring_.reset();
  tenants_.clear();
  loads_.clear();
}

void ProcessLoader::check_process() const {
  if (crew_ && !crew_->is_ours()) {
    throw StateError(std::string(options_.iterator) +
                     ": the iterator belongs to the process from which this one was forked: make another one here");
  }
}

void ProcessLoader::start_crew() {
  crew_ = std::make_unique<WorkerCrew>(size_, setting_);
  ring_ = std::make_unique<BlockRing>(crew_->blocks());
  tenants_.assign(static_cast<size_t>(size_.places), {});
  watched_.assign(static_cast<size_t>(size_.workers), {});
}

void ProcessLoader::start_absent_workers() {
  for (size_t i = 0; i < watched_.size(); ++i) {
    if (watched_[i].is_absent) start_worker(i);
  }
}

void ProcessLoader::start_worker(size_t i) {
  // A connection holds some hundred messages: when more workers end at once, some have to wait for their turn.
  const bool is_sent = crew_->send({Command::Kind::start, static_cast<int32_t>(i)});
  watched_[i] = {.is_absent = !is_sent};
}

// Workers of the crew may write to its blocks until they are killed, so nothing there counts.
void ProcessLoader::drop_crew() noexcept {
  crew_.reset();
  ring_.reset();
  for (const auto& load : loads_) {
    if (load->is_complete()) {
      load->place = -1;
    } else {
      load->start_again();
    }
  }
}

void ProcessLoader::lose_crew(const std::string& reason) {
  const std::string text = std::string(options_.iterator) + ": " + reason;
  drop_crew();
  if (options_.on_failure == OnFailure::raise || ++crews_lost_ > options_.max_retries) {
    trouble_ = std::make_exception_ptr(WorkerError(text));
  } else {
    log::warn(text + "; it is started again");
  }
}

// --- the BatchLoader ---

void ProcessLoader::submit(std::span<const ExampleKey> keys) {
  check_process();
  if (std::ssize(keys) > options_.batch_size) {
    throw StateError(std::string(options_.iterator) + ": a batch of " + std::to_string(keys.size()) +
                     " examples where " + std::to_string(options_.batch_size) +
                     " were the most: the data set has grown since the iterator was made");
  }
  loads_.push_back(std::make_unique<BatchProgress>(keys));
  advance_without_throwing();
}

bool ProcessLoader::is_ready() {
  check_process();
  advance_without_throwing();
  return trouble_ || (!loads_.empty() && (loads_.front()->is_complete() || loads_.front()->has_failed()));
}

Batch ProcessLoader::take() {
  check_process();
  BatchProgress& load = *loads_.front();
  for (;;) {
    const uint32_t seen = crew_ ? crew_->board().events() : 0;
    advance();
    if (load.has_failed()) {
      const auto [row, failure] = load.take_failure();
      throw_failure(options_.iterator, load.keys()[static_cast<size_t>(row)].index, failure);
    }
    if (load.is_complete()) break;
    if (trouble_) std::rethrow_exception(std::exchange(trouble_, nullptr));
    if (crew_) wait_for(load, seen);
  }
  adapt_to(load);
  Batch batch = load.assemble();
  if (crew_) abandon_place(load);
  loads_.pop_front();
  return batch;
}

void ProcessLoader::cancel() noexcept {
  for (const auto& load : loads_) {
    if (crew_ && crew_->is_ours()) abandon_place(*load);
  }
  loads_.clear();
}

// --- what the workers did ---

// Takes up all that happened, and gives the workers what there is to do.
void ProcessLoader::advance() {
  if (trouble_) return;
  if (!crew_) start_crew();
  start_absent_workers();
  WorkBoard& board = crew_->board();
  // In this order: what a worker reports of a chunk, it reports before the chunk is done.
  done_.clear();
  for (int place = 0; place < board.places(); ++place) {
    for (WorkBoard::Chunk& chunk : board.chunks(place)) {
      if (chunk.owner.load() == WorkBoard::kDone) done_.push_back({place, &chunk});
    }
  }
  try {
    if (!receive_reports()) return;
  } catch (...) {  // there is no memory for a report, without which a row would count as loaded
    drop_crew();
    throw;
  }
  finish_chunks(done_);
  release_places();
  post();
}

void ProcessLoader::advance_without_throwing() noexcept {
  try {
    advance();
  } catch (...) {
    trouble_ = std::current_exception();
  }
}

// False: there is no crew any more.
bool ProcessLoader::receive_reports() {
  for (;;) {
    Report report;
    switch (crew_->receive(report)) {
      case Received::nothing:
        return true;
      case Received::end: {
        const std::string end = crew_->end_of_mother();
        lose_crew(end.empty() ? crew_->mother_name() + " hung up" : end);
        return false;
      }
      case Received::message:
        handle(report);
    }
  }
}

void ProcessLoader::handle(Report& report) {
  if (report.kind == Report::Kind::exited) return handle_exit(report);
  if (report.kind == Report::Kind::not_started) {
    watched_[static_cast<size_t>(report.worker)].is_absent = true;
    const std::string text = std::string(options_.iterator) + ": cannot start worker " + std::to_string(report.worker) +
                             ": " + std::strerror(report.status);
    if (!std::ranges::all_of(watched_, &Watched::is_absent)) return log::warn(text);
    trouble_ = std::make_exception_ptr(WorkerError(text));
    return;
  }
  BatchProgress* const load = tenants_[static_cast<size_t>(report.place)].load;
  if (load == nullptr || !load->is_expected(report.row)) return;  // cancelled
  if (report.kind == Report::Kind::failed) return handle_failure(*load, report.row, std::move(report.failure));
  try {
    take_example(*load, report);
  } catch (const std::exception&) {  // there is no room for it here
    handle_failure(*load, report.row, failure_of(std::current_exception()));
  }
}

void ProcessLoader::take_example(BatchProgress& load, const Report& report) {
  Example example;
  if (report.kind == Report::Kind::alone) {
    if (!report.memory) {
      throw IoError("its memory could not be received: the process has too many open files (RLIMIT_NOFILE)");
    }
    const IntrusivePtr<SharedBlock> block(new SharedBlock(Mapping(report.memory, 0, report.bytes), 0, Device()));
    const Example planes = block->wrap(PackedExample::layout(block->data()), PackedExample::planes(block->data()));
    example = BatchLayout::rows(planes, 1).front();
    if (report.bytes <= kLargestSlot) {
      for (Array& array : example) array = array.copy();  // a process has few mappings for many small examples
    }
    largest_alone_ = std::max(largest_alone_, report.bytes);
  }
  if (!is_measured_) measure(example);
  load.finish_alone(report.row, std::move(example));
}

void ProcessLoader::handle_exit(const Report& report) {
  Watched& watched = watched_[static_cast<size_t>(report.worker)];
  std::string text = "worker " + std::to_string(report.worker) + " (process " + std::to_string(report.process) + ") ";
  if (watched.is_ending) {
    text += "took longer than dataset_timeout, " + in_text(*options_.timeout) + " s, and was killed";
  } else {
    text += describe_end(report.status);
  }
  WorkBoard& board = crew_->board();
  board.worker(report.worker).is_asleep.store(0);
  bool had_work = false;
  for (int place = 0; place < board.places(); ++place) {
    for (WorkBoard::Chunk& chunk : board.chunks(place)) {
      if (chunk.owner.load() != WorkBoard::kFirstWorker + static_cast<uint32_t>(report.worker)) continue;
      had_work = true;
      const int64_t first = chunk.first_row, rows = chunk.rows, done = chunk.rows_done.load();
      chunk.owner.store(WorkBoard::kNobody);
      BatchProgress* const load = tenants_[static_cast<size_t>(place)].load;
      if (load == nullptr) continue;
      load->finish(first, done);
      if (done < rows && load->is_expected(first + done)) {
        handle_failure(*load, first + done, {FailureKind::worker_error, text});
      }
      load->withdraw(first + done, rows - done);
    }
  }
  if (!had_work) {
    log::warn(std::string(options_.iterator) + ": " + text + " between two examples; it is replaced");
    if (++idle_deaths_ > 3 * size_.workers) {
      idle_deaths_ = 0;
      trouble_ = std::make_exception_ptr(
          WorkerError(std::string(options_.iterator) + ": workers end before they load an example: " + text));
    }
  }
  start_worker(static_cast<size_t>(report.worker));
}

void ProcessLoader::handle_failure(BatchProgress& load, int64_t row, Failure failure) {
  const int64_t example = load.keys()[static_cast<size_t>(row)].index;
  switch (options_.on_failure) {
    case OnFailure::skip:
      log::warn(failure_text(options_.iterator, example, failure) + "; it is left out");
      return load.leave_out(row);
    case OnFailure::retry:
      if (load.count_failure(row) <= options_.max_retries) return load.try_again(row);
      break;
    case OnFailure::raise:
      break;
  }
  load.fail(row, std::move(failure));
}

void ProcessLoader::finish_chunks(const std::vector<WorkBoard::Claim>& done) {
  for (const auto& [place, chunk] : done) {
    BatchProgress* const load = tenants_[static_cast<size_t>(place)].load;
    if (load != nullptr) {
      load->finish(chunk->first_row, chunk->rows);
      idle_deaths_ = 0;
      crews_lost_ = 0;
    }
    chunk->owner.store(WorkBoard::kNobody);
  }
}

// A place is free again when no worker has to do with it any more.
void ProcessLoader::release_places() {
  for (int place = 0; place < size_.places; ++place) {
    Tenant& tenant = tenants_[static_cast<size_t>(place)];
    if (!tenant.is_abandoned && (tenant.load == nullptr || !tenant.load->is_complete())) continue;
    if (!crew_->board().is_unused(place)) continue;
    if (tenant.load != nullptr) tenant.load->place = -1;
    tenant = {};
  }
}

void ProcessLoader::abandon_place(BatchProgress& load) noexcept {
  if (load.place < 0) return;
  crew_->board().cancel(load.place);
  tenants_[static_cast<size_t>(load.place)] = {nullptr, load.block(), true};
  load.place = -1;
}

// --- what the workers shall do ---

void ProcessLoader::post() {
  WorkBoard& board = crew_->board();
  for (const auto& load : loads_) {
    if (load->is_complete()) continue;
    if (!move_in(*load)) break;
    // The first example comes alone and tells how the others will lie.
    const int64_t rows = is_measured_ ? board.chunk_rows() : 1;
    int chunks = 0;
    while (board.has_room(load->place) && (is_measured_ || !load->is_any_posted())) {
      const auto range = load->post(rows);
      if (!range) break;
      board.open(load->place, range->first, range->count);
      ++chunks;
    }
    if (chunks > 0) board.announce(std::max(loads_.front()->place, 0), chunks);
    if (!is_measured_) break;
  }
}

// Gives a batch a place on the board and a block; false when all places are taken.
bool ProcessLoader::move_in(BatchProgress& load) {
  WorkBoard& board = crew_->board();
  if (load.place < 0) {
    const auto free = std::ranges::find_if(
        tenants_, [](const Tenant& tenant) { return tenant.load == nullptr && !tenant.is_abandoned; });
    if (free == tenants_.end()) return false;
    load.place = static_cast<int>(free - tenants_.begin());
    free->load = &load;
    board.place(load.place).open.store(0);
    board.place(load.place).is_cancelled.store(0);
    std::ranges::copy(load.keys(), board.keys(load.place).begin());
    board.place(load.place).target = load.target();
  }
  if (is_measured_ && !load.has_target()) {
    choose_target(load);
    board.place(load.place).target = load.target();
  }
  return true;
}

void ProcessLoader::choose_target(BatchProgress& load) {
  WorkBoard::Target target;
  if (room_ > 0) {
    target.room = room_;
    if (__builtin_mul_overflow(room_, options_.batch_size, &target.bytes)) {
      throw OutOfMemoryError(std::string(options_.iterator) + ": a batch of " + std::to_string(options_.batch_size) +
                             " slots of " + std::to_string(room_) + " bytes has no room in memory");
    }
  } else {
    target.layout = layout_;
    target.bytes = layout_.bytes();
  }
  IntrusivePtr<SharedBlock> block;
  if (room_ > 0 || layout_.is_defined()) {
    block = ring_->take(target.bytes, device_);
    target.offset = block->offset();
    target.bytes = block->bytes();
  }
  load.set_target(target, std::move(block));
}

void ProcessLoader::measure(const Example& example) {
  layout_ = BatchLayout::of(example, options_.batch_size);
  is_measured_ = true;
}

// If many examples did not fit, later batches have room for them.
void ProcessLoader::adapt_to(const BatchProgress& load) noexcept {
  if (options_.shared_mem || largest_alone_ > kLargestSlot) return;
  if (load.examples_alone() * 4 > std::ssize(load.keys())) room_ = std::max(room_, slot_for(largest_alone_ * 5 / 4));
}

// --- waiting ---

void ProcessLoader::wait_for(const BatchProgress& load, uint32_t seen) {
  WorkBoard& board = crew_->board();
  int place = load.place;
  for (int i = 0; place < 0 && i < board.places(); ++i) {  // until another batch makes room
    if (board.is_busy(i)) place = i;
  }
  if (place < 0) return;
  const auto begin = std::chrono::steady_clock::now();
  board.wait_for(place, seen, kSlice);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if ((unseen_ += seconds) >= kSlice) {
    unseen_ = 0;
    const std::string end = crew_->end_of_mother();
    if (!end.empty()) return lose_crew(end);
  }
  // Time in which this process was stopped, or the machine slept, is nobody's fault.
  watch_workers(std::min(seconds, 2 * kSlice));
}

void ProcessLoader::watch_workers(double seconds) {
  WorkBoard& board = crew_->board();
  const bool has_open_chunks = board.has_open_chunks();
  for (int i = 0; i < size_.workers; ++i) {
    Watched& watched = watched_[static_cast<size_t>(i)];
    if (watched.is_absent) continue;
    const WorkBoard::Worker& worker = board.worker(i);
    const uint32_t progress = worker.progress.load();
    const bool has_nothing_to_do = worker.is_asleep.load() != 0 && !has_open_chunks;
    if (!watched.is_ending && (progress != watched.progress || has_nothing_to_do)) {
      watched.progress = progress;
      watched.seconds = 0;
      continue;
    }
    watched.seconds += seconds;
    if (!watched.is_ending && options_.timeout && watched.seconds >= *options_.timeout) {
      watched.is_ending = true;
      watched.seconds = 0;
      crew_->send({Command::Kind::kill, i});
    } else if (watched.is_ending && watched.seconds >= kPatience) {
      return lose_crew(crew_->mother_name() + " does not answer");
    }
  }
}

}  // namespace kusari::iterators
