// The plain headers and GoogleTest.
#include "plain.h"

#include <gtest/gtest.h>
