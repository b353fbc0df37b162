#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/random_state.h"

namespace kusari {

class Reported;
class Variable;

/// What static_graph/ learns while it records a thread, beside the launches, which a LaunchObserver sees: what happens
/// beside the door that a replay must do again, or cannot. Core and the layers below static_graph/ call
///
///     if (GraphCapture* const capture = GraphCapture::current()) [[unlikely]] capture->...
///
/// An object has an id, by which memory that was allocated under it is known for as long as the object lives.
class KUSARI_API GraphCapture {
 public:
  GraphCapture();
  GraphCapture(const GraphCapture&) = delete;
  GraphCapture& operator=(const GraphCapture&) = delete;
  virtual ~GraphCapture();

  /// What records this thread now; null almost always.
  static GraphCapture* current() noexcept { return t_current; }
  /// Under a capture, `call` cannot be replayed for the reason given: see refused(). Otherwise does nothing.
  static void refuse(const char* call, const char* reason) {
    if (t_current != nullptr) [[unlikely]]
      t_current->refused(call, reason);
  }
  uint64_t id() const noexcept { return id_; }

  /// A new block of memory; the capture sets storage.capture if it wants to hear of its end.
  virtual void allocated(detail::Storage& storage) = 0;
  /// The memory that had capture == id() is given back, while this object lives; by whichever thread. `storage` is
  /// there until this returns.
  virtual void freed(const detail::Storage& storage) noexcept = 0;
  /// The host asks for elements, or fills a new array with what it knows.
  virtual void host_reads(const char* call, const Array& array) = 0;
  virtual void host_writes(const char* call, const Array& array) = 0;
  virtual void copied_between_devices(const Array& from, const Array& to) = 0;
  /// `count` numbers were taken off the stream of random numbers.
  virtual void drawn(RandomState taken, uint64_t count) = 0;
  virtual void reported(std::span<const Reported> values, const void* observer) = 0;
  /// `array` for an observation: the same elements, told apart from what the call keeps for itself.
  virtual Array lent(const Array& array) = 0;
  /// An input of a function. Called for all of them, defined ones only.
  virtual void used(const Variable& input) = 0;
  /// A member of a link that each call sets: replays set it as well.
  virtual void kept(Variable& member) = 0;
  /// Something on the host that every replay does again: before the kernels, at this place among them, or after them.
  enum class When : uint8_t { before, here, after };
  virtual void on_replay(When when, Callable<void()> action) = 0;
  /// A replay is allowed only while `holds` says so; otherwise the call is recorded anew.
  virtual void require(Callable<bool()> holds) = 0;
  /// An array that was made unseen and that every replay may read as it is: see host_constant.
  virtual void constant(const Array& array) = 0;
  /// What the thread is about to do cannot be replayed. Throws StateError unless the capture gives the recording up and
  /// lets the program go on.
  virtual void refused(const char* call, const std::string& reason) = 0;

  /// What somebody keeps for the time of this recording, such as Autocast's copies of parameters: goes when the
  /// outermost ScopedGraphCapture ends.
  std::shared_ptr<void> kept_meanwhile;

 protected:
  /// From now on freed() is not called. For the destructor of a class that overrides it.
  void stop_watching() noexcept;

 private:
  friend class ScopedGraphCapture;
  friend void detail::note_captured_storage_freed(const detail::Storage& storage) noexcept;

  static constinit thread_local GraphCapture* t_current __attribute__((tls_model("initial-exec")));

  uint64_t id_;
  GraphCapture* next_live_;
};

/// Makes a capture this thread's for the object's life; null: nothing is captured meanwhile, as while a parameter gets
/// its first numbers, which no replay does again.
class KUSARI_API ScopedGraphCapture {
 public:
  explicit ScopedGraphCapture(GraphCapture* capture) noexcept
      : previous_{std::exchange(GraphCapture::t_current, capture)} {}
  ScopedGraphCapture(const ScopedGraphCapture&) = delete;
  ScopedGraphCapture& operator=(const ScopedGraphCapture&) = delete;
  ~ScopedGraphCapture() {
    GraphCapture* const ended = std::exchange(GraphCapture::t_current, previous_);
    if (ended != nullptr && ended != previous_) ended->kept_meanwhile = nullptr;
  }

 private:
  GraphCapture* previous_;
};

/// The array that `make` works out on the host, or by kernels, from shapes and options alone: a grid, an index table. A
/// static graph that records this thread keeps it and does not look at how it is made.
template <class Make>
Array host_constant(Make&& make) {
  GraphCapture* const capture = GraphCapture::current();
  if (capture == nullptr) [[likely]]
    return make();
  const ScopedGraphCapture unseen(nullptr);
  Array result = make();
  capture->constant(result);
  return result;
}

/// Runs `action` now, and again at this place of every replay if a static graph records this thread: for side effects
/// of a model, such as counting or printing, which a replay would leave out. It runs on the host, when the kernels
/// before it have been given to the device. What it computes is not seen by the graph. chainer.static_code.
KUSARI_API void static_code(const Callable<void()>& action);

namespace detail {

/// Throws StateError: "<call>: the array of shape (..) <storage.stale>".
[[noreturn]] KUSARI_API void throw_stale(const std::string& call, const Array& array);

}  // namespace detail
}  // namespace kusari
