"""kvcached's shared file as its engines keep it: three 64-bit integers, read and written under flock."""
import fcntl
import os
import struct

LAYOUT = struct.Struct("=qqq")  # Limit, use, memory that is reserved but unused.
GB = 10**9


class Segment:
    def __init__(self, path, limit, used=0, preallocated=0):
        self.path = path
        self.store(LAYOUT.pack(limit, used, preallocated))

    def store(self, data):
        """Puts the bytes there in one step, as another file."""
        new = f"{self.path}.new"
        with open(new, "wb") as file:
            file.write(data)
        os.replace(new, self.path)

    def values(self):
        with open(self.path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH)
            return LAYOUT.unpack(file.read())

    @property
    def limit(self):
        return self.values()[0]

    def set_limit(self, limit):
        with open(self.path, "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            _, used, preallocated = LAYOUT.unpack(file.read())
            file.seek(0)
            file.write(LAYOUT.pack(limit, used, preallocated))

    def hold(self):
        """The file under an exclusive lock; closing it ends the lock."""
        file = open(self.path, "r+b")
        fcntl.flock(file, fcntl.LOCK_EX)
        return file
