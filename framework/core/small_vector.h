#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <new>
#include <type_traits>
#include <utility>

#include "kusari/framework/core/memory.h"

namespace kusari {

/// A vector whose first N elements live inside the object; more go to the pool of memory.h. Only what the engine needs.
template <class T, size_t N>
class SmallVector {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  SmallVector() noexcept : data_{inline_data()} {}
  explicit SmallVector(size_t n) : SmallVector() { resize(n); }
  SmallVector(size_t n, const T& value) : SmallVector() {
    reserve(n);
    for (size_t i = 0; i < n; ++i) push_back(value);
  }
  SmallVector(std::initializer_list<T> values) : SmallVector(values.begin(), values.end()) {}
  template <class It>
  requires(!std::is_integral_v<It>) SmallVector(It first, It last) : SmallVector() {
    if constexpr (requires { last - first; }) reserve(static_cast<size_t>(last - first));
    for (; first != last; ++first) push_back(*first);
  }
  SmallVector(const SmallVector& other) : SmallVector(other.begin(), other.end()) {}
  SmallVector(SmallVector&& other) noexcept : SmallVector() { steal(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) {
      SmallVector copy(other);
      destroy();
      steal(copy);
    }
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) {
      destroy();
      steal(other);
    }
    return *this;
  }
  ~SmallVector() { release(); }

  size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T* data() noexcept { return data_; }
  const T* data() const noexcept { return data_; }
  iterator begin() noexcept { return data_; }
  iterator end() noexcept { return data_ + size_; }
  const_iterator begin() const noexcept { return data_; }
  const_iterator end() const noexcept { return data_ + size_; }
  T& operator[](size_t i) noexcept { return data_[i]; }
  const T& operator[](size_t i) const noexcept { return data_[i]; }
  T& front() noexcept { return data_[0]; }
  const T& front() const noexcept { return data_[0]; }
  T& back() noexcept { return data_[size_ - 1]; }
  const T& back() const noexcept { return data_[size_ - 1]; }

  void reserve(size_t n) {
    if (n > capacity_) grow(n);
  }
  void push_back(const T& value) { emplace_back(value); }
  void push_back(T&& value) { emplace_back(std::move(value)); }
  template <class... Args>
  T& emplace_back(Args&&... args) {
    if (size_ == capacity_) {
      T value(std::forward<Args>(args)...);  // the arguments may refer into this vector
      grow(2 * static_cast<size_t>(capacity_));
      return *::new (static_cast<void*>(data_ + size_++)) T(std::move(value));
    }
    return *::new (static_cast<void*>(data_ + size_++)) T(std::forward<Args>(args)...);
  }
  void pop_back() noexcept { data_[--size_].~T(); }
  void clear() noexcept {
    destroy_elements();
    size_ = 0;
  }
  void resize(size_t n) {
    reserve(n);
    while (size_ < n) emplace_back();
    while (size_ > n) pop_back();
  }
  iterator insert(iterator position, T value) {
    const size_t at = static_cast<size_t>(position - data_);
    emplace_back(std::move(value));
    for (size_t i = size_ - 1; i > at; --i) std::swap(data_[i], data_[i - 1]);
    return data_ + at;
  }
  iterator erase(iterator position) {
    for (iterator i = position; i + 1 != end(); ++i) *i = std::move(*(i + 1));
    pop_back();
    return position;
  }

  friend bool operator==(const SmallVector& a, const SmallVector& b) {
    if (a.size_ != b.size_) return false;
    for (size_t i = 0; i < a.size_; ++i) {
      if (!(a[i] == b[i])) return false;
    }
    return true;
  }

 private:
  T* inline_data() noexcept { return reinterpret_cast<T*>(inline_); }

  // Plain loops: the algorithms of <memory> cost a program that includes this more to compile than all else here.
  static void relocate(T* from, size_t n, T* to) {
    for (size_t i = 0; i < n; ++i) {
      ::new (static_cast<void*>(to + i)) T(std::move(from[i]));
      from[i].~T();
    }
  }
  void destroy_elements() noexcept {
    for (size_t i = 0; i < size_; ++i) data_[i].~T();
  }
  void grow(size_t n) {
    T* fresh = static_cast<T*>(memory::allocate(n * sizeof(T)));
    relocate(data_, size_, fresh);
    free_heap();
    data_ = fresh;
    capacity_ = static_cast<uint32_t>(n);
  }
  void free_heap() noexcept {
    if (data_ != inline_data()) memory::deallocate(data_, capacity_ * sizeof(T));
  }
  void release() noexcept {
    destroy_elements();
    free_heap();
  }
  void destroy() noexcept {
    release();
    data_ = inline_data();
    size_ = 0;
    capacity_ = N;
  }
  void steal(SmallVector& other) noexcept {  // *this is empty and inline
    if (other.data_ != other.inline_data()) {
      data_ = std::exchange(other.data_, other.inline_data());
      size_ = std::exchange(other.size_, 0u);
      capacity_ = std::exchange(other.capacity_, static_cast<uint32_t>(N));
    } else {
      relocate(other.data_, other.size_, data_);
      size_ = std::exchange(other.size_, 0u);
    }
  }

  T* data_;
  uint32_t size_ = 0;
  uint32_t capacity_ = N;
  alignas(T) unsigned char inline_[N * sizeof(T)];
};

}  // namespace kusari
