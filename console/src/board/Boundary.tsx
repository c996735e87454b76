import { Component, type ReactNode } from 'react';

/** Says what happened when something in it cannot be shown; React would leave a white page. */
export class Boundary extends Component<{ children: ReactNode }, { problem: string }> {
  override state = { problem: '' };

  static getDerivedStateFromError(cause: unknown) {
    return { problem: (cause instanceof Error && cause.message) || String(cause) };
  }

  override render() {
    if (!this.state.problem) return this.props.children;
    return (
      <section className="empty" role="alert">
        <h1>This cannot be shown</h1>
        <p className="muted">
          The board made a mistake: “{this.state.problem}”. You are still signed in, and what you typed is kept in this browser.
        </p>
        <button type="button" className="primary" onClick={() => window.location.reload()}>
          Load the board anew
        </button>
      </section>
    );
  }
}
