#!/usr/bin/env python3
"""Has two seconds of sound written down over a WebSocket: voice_client.py URL MODEL. Prints the type of each event.

Runs with the Python of vLLM's environment, which has the package websockets.
"""
import asyncio
import base64
import json
import math
import struct
import sys

import websockets

RATE, SECONDS, PIECE = 16_000, 2, 8192


async def main(url, model):
    sound = b"".join(struct.pack("<h", int(8000 * math.sin(i / 20))) for i in range(RATE * SECONDS))
    async with websockets.connect(url) as socket:
        await socket.send(json.dumps({"type": "session.update", "model": model}))
        await socket.send(json.dumps({"type": "input_audio_buffer.commit"}))
        for at in range(0, len(sound), PIECE):
            piece = base64.b64encode(sound[at:at + PIECE]).decode()
            await socket.send(json.dumps({"type": "input_audio_buffer.append", "audio": piece}))
        await socket.send(json.dumps({"type": "input_audio_buffer.commit", "final": True}))
        kind = ""
        while kind not in ("transcription.done", "error"):
            event = json.loads(await asyncio.wait_for(socket.recv(), 120))
            kind = event["type"]
            print(kind)


asyncio.run(main(*sys.argv[1:]))
