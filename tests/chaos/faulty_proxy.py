"""A TCP proxy in front of an engine. It passes bytes faithfully until a fault damages the engine's answers.

Damage is always detectable: nobody can tell changed letters within valid JSON from the letters that an engine meant.
"""
import asyncio

JUNK = b"\xff\x00\xfe"
ENDLESS_HEADER = b"x-endless: " + b"a" * 1000 + b"\r\n"
FAULTS = ("garble", "cut", "truncate", "stall", "slow", "silent", "endless_head", "wrong_length")


class FaultyProxy:
    def __init__(self, port, target_port, generator):
        self.port = port
        self.target_port = target_port
        self.generator = generator
        self.mode = "pass"
        self._server = None
        self._tasks = set()

    async def start(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)

    async def stop(self):
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader, writer):
        task = asyncio.current_task()
        self._tasks.add(task)
        engine_writer = None
        try:
            if self.mode == "silent":
                await asyncio.sleep(30)
                return
            engine_reader, engine_writer = await asyncio.open_connection("127.0.0.1", self.target_port)
            up = asyncio.create_task(self._copy(reader, engine_writer))
            try:
                await self._answer(engine_reader, writer)
            finally:
                up.cancel()
        except (OSError, asyncio.IncompleteReadError):
            pass
        except asyncio.CancelledError:
            pass
        finally:
            self._tasks.discard(task)
            for end in (writer, engine_writer):
                if end is not None:
                    end.close()

    async def _copy(self, reader, writer):
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
            writer.close()
        except OSError:
            writer.close()

    async def _answer(self, reader, writer):
        while data := await reader.read(65536):
            mode = self.mode
            # Polls pass: only a replica that looks alive gets requests.
            if mode == "pass" or b"text/plain" in data[:400]:
                writer.write(data)
            elif mode == "slow":
                await asyncio.sleep(self.generator.uniform(0.01, 0.08))
                writer.write(data)
            elif self.generator.random() < 0.8:
                writer.write(data)
            elif await self._damage(mode, data, writer):
                return
            await writer.drain()

    async def _damage(self, mode, data, writer):
        """Returns whether the connection is over."""
        at = self.generator.randrange(len(data))
        if mode == "garble":
            writer.write(data[:at] + JUNK + data[at:])
            return False
        if mode == "cut":
            writer.transport.abort()
        elif mode == "truncate":
            writer.write(data[:at])
            await writer.drain()
        elif mode == "endless_head" and data.startswith(b"HTTP/1.1"):
            writer.write(b"HTTP/1.1 200 OK\r\n")
            for _ in range(400):
                writer.write(ENDLESS_HEADER)
                await writer.drain()
        elif mode == "wrong_length" and data.startswith(b"HTTP/1.1"):
            writer.write(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{"choices":[')
            await writer.drain()
        else:
            await asyncio.sleep(30)
        return True
