#include "executor.h"

#include <dlfcn.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device_memory.h"
#include "fiber.h"
#include "kusari/framework/core/error.h"
#include "schedule.h"
#include "settings.h"
#include "thread_device.h"

namespace kusari::cuda::emulated {

Thread* current_thread;
Block current_block;

namespace {

constexpr int kWarp = 32;
constexpr size_t kMaxThreads = 1024;
constexpr size_t kMaxShared = 227 << 10;

/// A thread and what it waits for.
struct Task : Thread {
  Fiber* fiber = nullptr;
  unsigned index_in_block = 0;
  bool waits = false;
  bool returned = false;
  // What it brought to a warp's collective, and what it takes from there.
  uint64_t value = 0;
  int source = 0;
};

struct Warp {
  unsigned arrived = 0;
  unsigned expected = 0;
  bool is_ballot = false;
};

std::string text_of(const dim3& d) {
  return "(" + std::to_string(d.x) + ", " + std::to_string(d.y) + ", " + std::to_string(d.z) + ")";
}

/// The name of a function of this library, with file and line where it was built with them.
std::string describe(const void* address) {
  Dl_info info{};
  if (address == nullptr || dladdr(address, &info) == 0) return "?";
  char command[4096];
  std::snprintf(command, sizeof(command), "addr2line -Cfpe '%s' %#zx 2>/dev/null", info.dli_fname,
                static_cast<size_t>(static_cast<const char*>(address) - static_cast<const char*>(info.dli_fbase)));
  std::string text;
  if (FILE* output = popen(command, "r"); output != nullptr) {
    char line[2048];
    while (std::fgets(line, sizeof(line), output) != nullptr) text += line;
    pclose(output);
  }
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.empty() ? std::string(info.dli_fname) : text;
}

/// Runs the threads of one block after another. One object: shared memory is static.
class Executor {
 public:
  void run(const GridShape& shape, void (*kernel)(void*), void* data) {
    const std::lock_guard lock(mutex_);
    shape_ = shape;
    check_shape();
    if (settings().trace) trace();
    if (!settings().execute) return;
    const DeviceAccess access;
    kernel_ = kernel;
    data_ = data;
    prepare_threads();
    current_block.threads = shape.block;
    current_block.grid = shape.grid;
    const dim3& grid = shape.grid;
    const uint64_t blocks = uint64_t{grid.x} * grid.y * grid.z;
    schedule_.begin_grid(blocks);
    for (uint64_t turn = 0; turn < blocks; ++turn) {
      const uint64_t block = schedule_.block(turn), line = block / grid.x;
      current_block.index = {static_cast<unsigned>(block % grid.x), static_cast<unsigned>(line % grid.y),
                             static_cast<unsigned>(line / grid.y)};
      if (turn == 0 || schedule_.is_random()) schedule_.arrange(order_, count_);
      run_block();
    }
  }

  void trace() {
    std::string& name = names_[shape_.kernel];
    if (name.empty()) name = describe(shape_.kernel);
    std::fprintf(stderr, "device: %s of %s by %s threads\n", name.c_str(), text_of(shape_.grid).c_str(),
                 text_of(shape_.block).c_str());
  }

  void* shared() { return shared_; }

  BarrierResult wait_at_barrier(bool predicate) {
    ++barrier_arrived_;
    if (predicate) ++barrier_holds_;
    waiting_at_barrier_.push_back(task());
    const bool is_last = barrier_arrived_ == live_;
    task()->waits = !is_last || has_turns();
    if (is_last) complete_barrier();
    if (!is_last || has_turns()) suspend();
    return barrier_result_;
  }

  uint64_t collect(unsigned mask, uint64_t value, int source, bool is_ballot) {
    Task* const me = task();
    const int lane = me->index_in_block % kWarp;
    Warp& warp = warps_[static_cast<size_t>(me->index_in_block / kWarp)];
    const unsigned bit = 1u << lane;
    const bool is_other = warp.arrived != 0 && (mask != warp.expected || is_ballot != warp.is_ballot);
    const bool is_absent = !is_ballot && (source < 0 || source >= kWarp || (mask >> source & 1u) == 0);
    if ((mask & bit) == 0 || is_other || is_absent) refuse_collective(lane, (mask & bit) == 0, is_other, source);
    warp.expected = mask;
    warp.is_ballot = is_ballot;
    warp.arrived |= bit;
    me->value = value;
    me->source = source;
    const bool is_last = warp.arrived == mask;
    me->waits = !is_last || has_turns();
    if (is_last) complete_collective(me, warp);
    if (!is_last || has_turns()) suspend();
    return me->value;
  }

  static void fiber_main(void* self) { static_cast<Executor*>(self)->work(); }

 private:
  Task* task() const { return static_cast<Task*>(current_thread); }
  /// Whether the last to arrive waits for its turn too; it costs less to let it go on.
  bool has_turns() const { return !schedule_.is_forward(); }

  void check_shape() const {
    const auto& [grid, block, shared, kernel] = shape_;
    const size_t threads = static_cast<size_t>(block.x) * block.y * block.z;
    const char* wrong = nullptr;
    if (threads == 0 || threads > kMaxThreads || block.x > 1024 || block.y > 1024 || block.z > 64) {
      wrong = "a block has 1 to 1024 threads";
    } else if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535) {
      wrong = "a grid has 1 to (2147483647, 65535, 65535) blocks";
    } else if (shared > kMaxShared) {
      wrong = "a block has at most 232448 bytes of shared memory";
    } else if (!may_have_shared(kernel, shared)) {
      wrong = "more than 49152 bytes are asked for by cudaFuncSetAttribute first";
    }
    if (wrong != nullptr) {
      throw DeviceError("emulated device: " + describe(kernel) + ": grid " + text_of(grid) + ", block " +
                        text_of(block) + ", " + std::to_string(shared) + " bytes of shared memory: " + wrong);
    }
  }

  void prepare_threads() {
    const dim3& block = shape_.block;
    count_ = static_cast<int>(block.x * block.y * block.z);
    if (tasks_.size() < static_cast<size_t>(count_)) tasks_.resize(static_cast<size_t>(count_));
    int i = 0;
    for (unsigned z = 0; z < block.z; ++z) {
      for (unsigned y = 0; y < block.y; ++y) {
        for (unsigned x = 0; x < block.x; ++x, ++i) {
          Task& t = tasks_[static_cast<size_t>(i)];
          t.index = {x, y, z};
          t.index_in_block = i;
        }
      }
    }
    if (static_cast<size_t>(ready_.capacity()) < kMaxThreads) ready_.reserve(kMaxThreads);
  }

  void run_block() {
    for (int i = 0; i < count_; ++i) {
      Task& t = tasks_[static_cast<size_t>(i)];
      t.fiber = nullptr;
      t.waits = t.returned = false;
    }
    std::fill(std::begin(warps_), std::end(warps_), Warp{});
    std::memset(shared_, 0xff, shape_.shared);
    next_ = 0;
    live_ = count_;
    ready_.clear();
    ready_begin_ = 0;
    waiting_at_barrier_.clear();
    barrier_arrived_ = barrier_holds_ = 0;
    error_.clear();
    exception_ = nullptr;

    switch_to(main_, *start_fiber());

    current_thread = nullptr;
    if (exception_) {
      drop_suspended();
      std::rethrow_exception(std::exchange(exception_, nullptr));
    }
    if (!error_.empty()) {
      drop_suspended();
      throw DeviceError(error_);
    }
  }

  /// The body of every fiber: runs threads that have not begun, as long as nobody waits for a turn.
  void work() {
    Fiber& me = *fiber_;
    for (;;) {
      if (next_ < count_) {
        Task& t = tasks_[static_cast<size_t>(order_[static_cast<size_t>(next_++)])];
        t.fiber = &me;
        current_thread = &t;
        try {
          kernel_(data_);
        } catch (...) {
          exception_ = std::current_exception();
        }
        current_thread = &t;
        if (exception_) {
          free_.push_back(&me);
          switch_to(me, main_);
          continue;
        }
        leave(t);
        if (ready_begin_ == ready_.size() && next_ < count_) continue;
      }
      // Nothing to begin, or somebody waits for a turn: this fiber rests.
      free_.push_back(&me);
      switch_to(me, live_ == 0 ? main_ : next_fiber());
    }
  }

  /// The thread of this fiber waits; others have their turn until it is ready.
  void suspend() {
    Task* const me = task();
    switch_to(*me->fiber, next_fiber());
    current_thread = me;
  }

  /// Whose turn it is: a thread that waits no longer, else one that has not begun; the main fiber if there is neither.
  Fiber& next_fiber() {
    if (ready_begin_ < ready_.size()) {
      std::swap(ready_[ready_begin_], ready_[ready_begin_ + schedule_.pick(ready_.size() - ready_begin_)]);
      Task* const t = ready_[ready_begin_++];
      if (ready_begin_ == ready_.size()) {
        ready_.clear();
        ready_begin_ = 0;
      }
      return *t->fiber;
    }
    if (next_ < count_) return *start_fiber();
    report_deadlock();
    return main_;
  }

  Fiber* start_fiber() {
    if (free_.empty()) {
      fibers_.push_back(std::make_unique<Fiber>(fiber_main, this));
      return fibers_.back().get();
    }
    Fiber* const fiber = free_.back();
    free_.pop_back();
    return fiber;
  }

  void switch_to(Fiber& from, Fiber& to) {
    if (&from == &to) return;
    fiber_ = &to;
    from.switch_to(to);
  }

  void leave(Task& t) {
    t.returned = true;
    --live_;
    const Warp& warp = warps_[static_cast<size_t>(t.index_in_block / kWarp)];
    if (warp.arrived != 0 && (warp.expected >> (t.index_in_block % kWarp) & 1u) != 0) {
      record("thread " + std::to_string(t.index_in_block) + " returns while its warp waits for it at a collective");
      end_grid();
    }
    if (live_ > 0 && barrier_arrived_ == live_) complete_barrier();
  }

  void complete_barrier() {
    barrier_result_ = {barrier_holds_, barrier_arrived_};
    for (Task* t : waiting_at_barrier_) wake(t);
    waiting_at_barrier_.clear();
    barrier_arrived_ = barrier_holds_ = 0;
  }

  // Apart, as what follows: a frame that is small keeps a fiber's stack within few lines of the cache.
  [[gnu::noinline]] void refuse_collective(int lane, bool is_unmasked, bool is_other, int source) {
    const std::string name = "lane " + std::to_string(lane);
    record(is_unmasked ? name + " is not in the mask of its own collective"
           : is_other  ? "the lanes of a warp are at different collectives"
                       : name + " reads from lane " + std::to_string(source) + ", which does not take part");
    end_grid();
  }

  [[gnu::noinline]] void complete_collective(const Task* last, Warp& warp) {
    Task* const lanes = &tasks_[static_cast<size_t>(last->index_in_block / kWarp * kWarp)];
    const unsigned mask = warp.arrived;
    warp.arrived = 0;
    uint64_t brought[kWarp];
    unsigned holds = 0;
    for (unsigned left = mask; left != 0; left &= left - 1) {
      const int lane = std::countr_zero(left);
      brought[lane] = lanes[lane].value;
      if (brought[lane] != 0) holds |= 1u << lane;
    }
    const bool is_ballot = warp.is_ballot;
    for (unsigned left = mask; left != 0;) {
      const int lane = schedule_.is_reverse() ? std::bit_width(left) - 1 : std::countr_zero(left);
      left ^= 1u << lane;
      Task& t = lanes[lane];
      t.value = is_ballot ? holds : brought[t.source];
      wake(&t);
    }
  }

  void wake(Task* t) {
    if (!t->waits) return;  // the last to arrive, where it goes on
    t->waits = false;
    ready_.push_back(t);
  }

  void record(const std::string& rule) { error_ = "emulated device: " + where() + ": " + rule; }
  /// Does not return to the thread that broke a rule, whose frames hold nothing to be destroyed.
  void end_grid() { switch_to(*task()->fiber, main_); }

  void report_deadlock() {
    if (!error_.empty()) return;
    int at_barrier = 0, in_warps = 0;
    for (const Task* t : waiting_at_barrier_) at_barrier += t->waits ? 1 : 0;
    for (const Warp& warp : warps_) in_warps += std::popcount(warp.arrived);
    record("deadlock: of " + std::to_string(count_) + " threads " + std::to_string(at_barrier) +
           " wait at a barrier, " + std::to_string(in_warps) + " at a warp's collective, " +
           std::to_string(count_ - live_) + " have returned");
  }

  std::string where() const {
    const uint3 b = current_block.index;
    return describe(shape_.kernel) + ", block " + text_of(dim3(b.x, b.y, b.z)) + ", thread " +
           (current_thread != nullptr ? std::to_string(task()->index_in_block) : "?");
  }

  /// Forgets fibers whose threads never ended.
  void drop_suspended() {
    free_.clear();
    for (const auto& fiber : fibers_) {
      fiber->reset();
      free_.push_back(fiber.get());
    }
  }

  std::mutex mutex_;
  GridShape shape_{};
  std::map<const void*, std::string> names_;  // of the kernels traced so far
  void (*kernel_)(void*) = nullptr;
  void* data_ = nullptr;

  Fiber main_;
  Fiber* fiber_ = nullptr;  ///< the one that runs
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> free_;

  Schedule schedule_ = Schedule::from_environment();
  std::vector<int> order_;  ///< in which threads begin
  std::vector<Task> tasks_;
  int count_ = 0;             ///< threads of the block
  int next_ = 0;              ///< the first in order_ that has not begun
  int live_ = 0;              ///< those that have not returned
  std::vector<Task*> ready_;  ///< those that waited and may go on, from ready_begin_ on
  size_t ready_begin_ = 0;
  Warp warps_[kMaxThreads / kWarp];

  std::vector<Task*> waiting_at_barrier_;
  int barrier_arrived_ = 0, barrier_holds_ = 0;
  BarrierResult barrier_result_{};

  std::string error_;
  std::exception_ptr exception_;

  alignas(128) unsigned char shared_[kMaxShared];
};

Executor& executor() {
  static Executor& object = *new Executor;  // fibers outlive every static object
  return object;
}

}  // namespace

void run_grid(const GridShape& shape, void (*run)(void*), void* data) { executor().run(shape, run, data); }
void* dynamic_shared() { return executor().shared(); }
BarrierResult barrier(bool predicate) { return executor().wait_at_barrier(predicate); }
int lane_index() { return static_cast<const Task*>(current_thread)->index_in_block % kWarp; }
uint64_t exchange(unsigned mask, uint64_t value, int source) { return executor().collect(mask, value, source, false); }
unsigned ballot(unsigned mask, bool predicate) {
  return static_cast<unsigned>(executor().collect(mask, predicate ? 1 : 0, 0, true));
}

}  // namespace kusari::cuda::emulated
