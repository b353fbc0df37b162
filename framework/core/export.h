#pragma once

// KUSARI_API marks what the shared library exports; everything else is hidden.
#if defined(KUSARI_STATIC)
#define KUSARI_API
#else
#define KUSARI_API __attribute__((visibility("default")))
#endif
