#pragma once

namespace kusari::cuda {

/// Moments in the work of a device's streams, for memory that must not be used again before them. Abstract, and streams
/// and events without their types, so that the pools are tested without a device.
class EventSource {
 public:
  EventSource(const EventSource&) = delete;
  EventSource& operator=(const EventSource&) = delete;
  virtual ~EventSource() = default;

  /// The end of all work given to the stream so far; null when nothing is left to wait for, as at the process's end or,
  /// where no event is to be had, after waiting for the stream.
  virtual void* record(void* stream) noexcept = 0;
  virtual bool is_done(void* event) noexcept = 0;
  virtual void wait(void* event) noexcept = 0;
  /// Gives back an event of record().
  virtual void recycle(void* event) noexcept = 0;

 protected:
  EventSource() = default;
};

}  // namespace kusari::cuda
