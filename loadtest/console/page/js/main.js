// The page, unless it is the stage: a bar, the headline, what happened, the tour, the stage of three columns, an order's life, the runs.
import { effect, html, render } from "./ui.js";
import { follow, state } from "./state.js";
import { keepInAddress } from "./address.js";
import { Bar, Help, keepTheme, Note } from "./bar.js";
import { Hero, tabTitle } from "./hero.js";
import { Happened } from "./happened.js";
import { follow as tourFollows, Tour } from "./tour.js";
import { Controls } from "./faults.js";
import { Way } from "./way.js";
import { Charts } from "./chart.js";
import { Books, Events, Lock, Orders, Verdict } from "./books.js";
import { OrderLife } from "./order.js";
import { Runs } from "./runs.js";
import { isStage, Stage } from "./stage.js";
import { listen } from "./keys.js";

const App = () => html`
  <${Bar} />
  <main>
    <${Hero} />
    <${Happened} />
    <${Tour} />
    <div class="stage" id="stage">
      <${Controls} />
      <div class="middle"><${Way} /><${Charts} /><${Events} /></div>
      <div class="right"><${Books} /><${Orders} /><${Verdict} /><${Lock} /></div>
    </div>
    <${OrderLife} />
    <${Runs} />
  </main>
  <${Note} /><${Help} />`;

keepTheme();
keepInAddress();
const app = document.getElementById("app");
app.replaceChildren();
render(isStage ? html`<${Stage} /><${Note} />` : html`<${App} />`, app);
effect(() => { document.title = tabTitle(state.hero.value); });
listen();
tourFollows();
follow();
