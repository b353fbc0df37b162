#include "stream_queue.h"

#include <cstdio>
#include <deque>
#include <exception>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <random>
#include <utility>
#include <vector>

#include "device_memory.h"
#include "graphs.h"
#include "settings.h"

namespace kusari::cuda::emulated {

struct StreamQueue {
  /// One of the three.
  struct Item {
    std::function<void()> work;
    std::shared_ptr<Mark> mark;
    std::shared_ptr<Mark> waits_for;
  };
  int device = 0;
  bool is_closed = false;
  std::deque<Item> items;
};

namespace {

/// The host waits once so much is queued, as the driver has it.
constexpr size_t kMostItems = 400;

class Scheduler {
 public:
  std::mutex& mutex() { return mutex_; }

  void open(cudaStream_t stream, int device) { queue_of(stream).device = device; }

  void close(cudaStream_t stream) {
    const auto it = of_streams_.find({stream, 0});
    if (it == of_streams_.end()) return;
    it->second->is_closed = true;
    of_streams_.erase(it);
    drop_closed();
  }

  StreamQueue& queue_of(cudaStream_t stream) {
    int device = 0;
    if (stream == nullptr) cudaGetDevice(&device);
    StreamQueue*& queue = of_streams_[{stream, device}];
    if (queue == nullptr) {
      queue = queues_.emplace_back(std::make_unique<StreamQueue>()).get();
      queue->device = device;
    }
    return *queue;
  }

  void add(StreamQueue& queue, StreamQueue::Item item) {
    queue.items.push_back(std::move(item));
    if (++count_ <= kMostItems) return;
    const DeviceAccess access;
    while (count_ > kMostItems / 2) run_one(any());
  }

  std::shared_ptr<Mark> add_mark(StreamQueue& queue) {
    auto mark = std::make_shared<Mark>();
    mark->queue = &queue;
    add(queue, {nullptr, mark, nullptr});
    return mark;
  }

  /// Work that is not needed runs never, now and then, or mostly before what is needed.
  void finish(const Mark& mark) {
    if (mark.is_done) return;
    const DeviceAccess access;
    constexpr unsigned kAhead[] = {0, 1, 4, 7};  // of 8 turns
    const unsigned ahead = kAhead[random_() % std::size(kAhead)];
    while (!mark.is_done) run_one(random_() % 8 < ahead ? any() : *mark.queue);
  }

  void finish_device(int device) {
    for (StreamQueue* busy = busy_of(device); busy != nullptr; busy = busy_of(device)) finish(*add_mark(*busy));
  }

  /// The device goes on while the host asks.
  void progress() {
    const DeviceAccess access;
    for (unsigned turns = random_() % 4; turns > 0 && count_ > 0; --turns) run_one(any());
  }

  cudaError_t failure() const { return failure_; }

 private:
  StreamQueue& any() {
    std::vector<StreamQueue*> busy;
    for (const auto& queue : queues_) {
      if (!queue->items.empty()) busy.push_back(queue.get());
    }
    return *busy[random_() % busy.size()];
  }

  StreamQueue* busy_of(int device) {
    for (const auto& queue : queues_) {
      if (queue->device == device && !queue->items.empty()) return queue.get();
    }
    return nullptr;
  }

  /// Runs the first item of the queue, or what it waits for.
  void run_one(StreamQueue& start) {
    StreamQueue* queue = &start;
    for (const Mark* mark = queue->items.front().waits_for.get(); mark != nullptr && !mark->is_done;
         mark = queue->items.front().waits_for.get()) {
      queue = mark->queue;
    }
    const StreamQueue::Item item = std::move(queue->items.front());
    queue->items.pop_front();
    --count_;
    if (item.work && failure_ == cudaSuccess) run(item.work);
    if (item.mark != nullptr) {
      item.mark->time = std::chrono::steady_clock::now();
      item.mark->is_done = true;
    }
    if (queue->is_closed) drop_closed();
  }

  void run(const std::function<void()>& work) {
    try {
      work();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "emulated device: deferred work failed: %s\n", error.what());
      failure_ = cudaErrorLaunchFailure;
    }
  }

  void drop_closed() {
    std::erase_if(queues_, [](const auto& queue) { return queue->is_closed && queue->items.empty(); });
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<StreamQueue>> queues_;
  std::map<std::pair<cudaStream_t, int>, StreamQueue*> of_streams_;  // the device tells null streams apart
  size_t count_ = 0;                                                 // of all items
  cudaError_t failure_ = cudaSuccess;
  std::mt19937_64 random_{settings().stream_seed};
};

Scheduler& scheduler() {
  static Scheduler& object = *new Scheduler;  // outlives every static object
  return object;
}

}  // namespace

bool defers_work() { return settings().defers; }

bool keeps_work(cudaStream_t stream) { return defers_work() || is_captured(stream); }

cudaError_t submit(cudaStream_t stream, std::function<void()> work) {
  if (is_captured(stream)) return capture(stream, std::move(work));
  if (!defers_work()) return work(), cudaSuccess;
  Scheduler& s = scheduler();
  const std::lock_guard lock(s.mutex());
  s.add(s.queue_of(stream), {std::move(work), nullptr, nullptr});
  return s.failure();
}

std::shared_ptr<Mark> submit_mark(cudaStream_t stream) {
  if (!defers_work()) {
    auto mark = std::make_shared<Mark>();
    mark->time = std::chrono::steady_clock::now();
    mark->is_done = true;
    return mark;
  }
  Scheduler& s = scheduler();
  const std::lock_guard lock(s.mutex());
  return s.add_mark(s.queue_of(stream));
}

cudaError_t submit_wait(cudaStream_t stream, std::shared_ptr<Mark> mark) {
  if (!defers_work() || mark == nullptr) return cudaSuccess;
  Scheduler& s = scheduler();
  const std::lock_guard lock(s.mutex());
  s.add(s.queue_of(stream), {nullptr, nullptr, std::move(mark)});
  return s.failure();
}

void open_stream(cudaStream_t stream, int device) {
  if (!defers_work()) return;
  Scheduler& s = scheduler();
  const std::lock_guard lock(s.mutex());
  s.open(stream, device);
}

void close_stream(cudaStream_t stream) {
  if (!defers_work()) return;
  Scheduler& s = scheduler();
  const std::lock_guard lock(s.mutex());
  s.close(stream);
}

cudaError_t finish(const std::shared_ptr<Mark>& mark) {
  if (!defers_work() || mark == nullptr) return cudaSuccess;
  Scheduler& s = scheduler();
  const std::lock_guard lock(s.mutex());
  s.finish(*mark);
  return s.failure();
}

cudaError_t finish_stream(cudaStream_t stream) { return defers_work() ? finish(submit_mark(stream)) : cudaSuccess; }

cudaError_t finish_device(int device) {
  if (!defers_work()) return cudaSuccess;
  Scheduler& s = scheduler();
  const std::lock_guard lock(s.mutex());
  s.finish_device(device);
  return s.failure();
}

cudaError_t query(const std::shared_ptr<Mark>& mark) {
  if (!defers_work() || mark == nullptr) return cudaSuccess;
  Scheduler& s = scheduler();
  const std::lock_guard lock(s.mutex());
  if (!mark->is_done) s.progress();
  if (s.failure() != cudaSuccess) return s.failure();
  return mark->is_done ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t query_stream(cudaStream_t stream) {
  if (!defers_work()) return cudaSuccess;
  Scheduler& s = scheduler();
  const std::lock_guard lock(s.mutex());
  if (!s.queue_of(stream).items.empty()) s.progress();
  if (s.failure() != cudaSuccess) return s.failure();
  return s.queue_of(stream).items.empty() ? cudaSuccess : cudaErrorNotReady;
}

}  // namespace kusari::cuda::emulated
