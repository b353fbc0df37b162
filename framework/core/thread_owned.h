#pragma once

#include <cstdint>

#include "kusari/framework/core/export.h"

// Variables of threads take room in a block that the system keeps small for libraries which a program loads while it
// runs (dlopen): some hundred bytes for all of them. So what is larger than a pointer lies on the heap.
namespace kusari::detail {

/// The calling thread: a number that no other living thread has, and never 0.
KUSARI_API uint64_t this_thread() noexcept;

/// When the calling thread ends, `destroy(object)` runs, the last one that was arranged first. Not in the main thread,
/// where statics that are destroyed later may still use the object.
KUSARI_API void at_thread_exit(void (*destroy)(void* object), void* object);

template <class T>
[[gnu::noinline]] void make_thread_owned(T*& place) {
  place = new T();
  at_thread_exit(
      [](void* opaque) {
        T*& own = *static_cast<T**>(opaque);
        T* const object = own;
        own = nullptr;  // what is destroyed later makes a new one
        delete object;
      },
      &place);
}

/// The object of the calling thread that `place` points to, made at the first use and destroyed when the thread ends:
///
///     static constinit thread_local Table* t_table = nullptr;
///     Table& table = thread_owned(t_table);
template <class T>
T& thread_owned(T*& place) {
  if (place == nullptr) [[unlikely]]
    make_thread_owned(place);
  return *place;
}

}  // namespace kusari::detail
