#pragma once

#include "kusari/framework/core/host_device.h"

// Philox4x32-10, the counter-based generator of Salmon et al. 2011 ("Parallel random numbers: as easy as 1, 2, 3").
// No standard header: device code and NVRTC compile this text too.
namespace kusari {

/// The four words that the generator makes of one counter.
struct PhiloxBlock {
  unsigned int word[4];
};

/// Ten rounds over counter (low, high, plane, 0) with the two halves of `seed` as the key. Plane 0 is the stream; the
/// others give more bits for the same place in it.
KUSARI_HOST_DEVICE PhiloxBlock philox_block(unsigned long long seed, unsigned long long counter,
                                            unsigned int plane = 0) {
  unsigned int key0 = static_cast<unsigned int>(seed), key1 = static_cast<unsigned int>(seed >> 32);
  unsigned int c0 = static_cast<unsigned int>(counter), c1 = static_cast<unsigned int>(counter >> 32), c2 = plane,
               c3 = 0;
  for (int round = 0; round < 10; ++round) {
    const unsigned long long p0 = 0xD2511F53ull * c0, p1 = 0xCD9E8D57ull * c2;
    const unsigned int high0 = static_cast<unsigned int>(p0 >> 32), high1 = static_cast<unsigned int>(p1 >> 32);
    c0 = high1 ^ c1 ^ key0;
    c2 = high0 ^ c3 ^ key1;
    c1 = static_cast<unsigned int>(p1);
    c3 = static_cast<unsigned int>(p0);
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

/// Word number `index` of the stream of `seed`: word index % 4 of block index / 4.
KUSARI_HOST_DEVICE unsigned int philox_word(unsigned long long seed, unsigned long long index) {
  return philox_block(seed, index / 4).word[index % 4];
}

}  // namespace kusari
